// What stands around the drawing.
import { toCode } from '../shared/fields.js';
import { plural } from '../shared/format.js';
import { widget } from './index.js';
import { OWN, now } from './model.js';

export const prompts = [
  'Change from GPipe to 1F1B and back. What stays the same, and what does not?',
  'Raise the micro-batches from 4 to 16. What grows under GPipe that 1F1B keeps?',
  'Let a backward take 1, then 3 times as long as a forward. What happens to the idle share?',
];

/** @param {import('./model.js').State} state */
export const alt = (state) => {
  const { run, stages } = state;
  const devices = run.rows.map((row, stage) => {
    const done = row.filter(({ end }) => end <= now(state)).map(({ op, microbatch }) => `${op}${microbatch}`).join(' ');
    return `device ${stage} runs ${done || 'nothing'} and holds at most ${run.peaks[stage]}`;
  });
  return `Pipeline schedule of ${plural(stages, 'stage')} and ${plural(run.microbatches, 'micro-batch', 'micro-batches')} up to time ${now(state)} of ${run.makespan}: ${devices.join('; ')}`;
};

/** @param {import('./model.js').State} state */
export const code = (state) => (state.policy === OWN ? `PipelineSchedule.from_schedule(cells, step=${state.step})` : toCode(widget, state));
