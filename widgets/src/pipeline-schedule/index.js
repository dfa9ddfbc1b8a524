// A pipeline schedule: devices are rows, time runs to the right, and what each device holds is drawn below on the
// same axis. Cells stand in time order, so that a cell is painted over those that it waits for.
import { ask } from '../shared/ask.js';
import { plural } from '../shared/format.js';
import { open, swatch, texture, textWidth, ticks, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { END, NAMES, OWN, POLICIES, derive, heldAt, now } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {import('./model.js').Cell} Cell */
/** @typedef {import('./model.js').Run} Run */
/** @typedef {import('../shared/types.d.ts').Canvas} Canvas */

const KINDS = { F: ['parameters', 'Forward'], B: ['gradients', 'Backward'] };
const [GAP, SMALL, TINY] = [4, 14.17, 11.81];
const MUTED = 'small sw-number sw-fill-muted';
const NUMBER = 'small sw-number sw-fill-text';

/** A reader's times may be of any size. @param {number} time */
const number = (time) => String(Number(time.toPrecision(5)));
/** @param {number} share @param {number} [decimals] */
const percent = (share, decimals = 1) => `${Number((100 * share).toFixed(decimals))}\u00a0%`;
/** @param {number} count */
const microbatchCount = (count) => `${count} micro-batch${count === 1 ? '' : 'es'}`;
/** @param {Cell} cell */
const label = ({ op, microbatch }) => `${op}${microbatch}`;
/** @param {Cell} cell */
const needs = (cell) =>
  cell.needs.map((need) => `${label(need)} of device ${need.stage} (ended at ${number(need.end)})`).join(' and ') || 'no other cell';

/** @param {Run} run @param {number} width @param {string} id */
function layout({ rows, makespan }, width, id) {
  const narrow = width < 560;
  const [left, end, row, top] = narrow ? [28, width - 40, 20, 124] : [76, width - 52, 28, 92];
  const axis = top + rows.length * (row + GAP) + 4;
  const panel = axis + 64;
  return {
    id, width, narrow, left, end, row, top, axis, panel,
    base: row / 2 + (narrow ? 4 : 5), // of a label in a row
    bottom: panel + rows.length * (row + GAP) - GAP,
    x: (/** @type {number} */ time) => left + Math.round(100 * (time / makespan) * (end - left)) / 100,
    y: (/** @type {number} */ stage) => top + stage * (row + GAP),
  };
}

/** @typedef {ReturnType<typeof layout>} Place */
/** What is shown of the run: up to a time, and, where something moves, from another. @typedef {{ place: Place, time: number, before: number }} View */

/** @param {State} state @param {Canvas} canvas */
function draw(state, { width, id, from }) {
  const { run } = state;
  const place = layout(run, width, id);
  const { narrow, top, x, y, axis, panel, bottom } = place;
  const time = now(state);
  const before = from === undefined ? time : now({ ...state, step: from });
  const view = { place, time, before };
  return markup`${open(width, bottom + 4, 'Devices by time', '', markup`style="--head:url(#${id}-head)"`)}
${write(0, 24, 'large sw-number sw-fill-text', markup`${percent(run.bubble)} <tspan class="sw-body">of the time idle</tspan>`)}
${write(narrow ? 0 : width, narrow ? 50 : 24, 'body sw-number sw-strong sw-fill-text', `makespan ${number(run.makespan)}`, !narrow && 'end')}
${legend(state, place)}${write(width, top - 8, MUTED, 'idle', 'end')}
${run.rows.map((_, stage) => markup`${track(stage, y(stage), place)}
${run.gaps[stage].filter(([start]) => start < time).map(([start, stop, next]) => markup`<rect ${ask(`Device ${stage} idle, ${span(start, stop)}${next ? `: ${label(next)} needs ${needs(next)}` : ''}.`, `i${stage}-${start}`)} x="${x(start)}" y="${y(stage)}" width="${x(Math.min(stop, time)) - x(start)}" height="${place.row}" ${texture(id, 'idle')}/>`)}
<g ${ask(`Device ${stage} idles ${number(run.idle[stage])} of ${number(run.makespan)}.`, `p${stage}`)}>${write(width, y(stage) + place.base, NUMBER, percent(run.idle[stage] / run.makespan, 0), 'end')}</g>`)}
${run.cells.filter((cell) => cell.start < time || cell.end <= time).map((cell) => drawCell(cell, run, view))}
${timeAxis(run.makespan, place)}
${swatch('activations', 'A', 0, panel - 32)}${write(28, panel - 17, 'small sw-fill-text', `${narrow ? 'In' : 'Micro-batches in'} flight, of ${run.microbatches}`)}${write(width, panel - 17, MUTED, 'peak', 'end')}
${run.rows.map((_, stage) => held(run, stage, view))}
${time < run.makespan && markup`<path d="M${x(time)} ${top - 4}V${axis}M${x(time)} ${panel - 4}V${bottom}" class="sw-line sw-stroke-text sw-schedule-now" style="--from:${x(before) - x(time)}px"/>${write(x(time), top - 8, `${NUMBER} sw-strong`, number(time), 'middle')}`}
</svg>`;
}

/** @param {number} start @param {number} stop */
const span = (start, stop) => `time ${number(start)} to ${number(stop)}`;

/** The empty row of a device. @param {number} stage @param {number} y @param {Place} place */
const track = (stage, y, { left, end, row, base, narrow }) => markup`${write(0, y + base, MUTED, `${narrow ? 'd' : 'device '}${stage}`)}
<rect x="${left}" y="${y + 0.75}" width="${end - left}" height="${row - 1.5}" rx="4" class="sw-line sw-stroke-rule"/>`;

/** What a cell is called: as much as there is room for, alike for all of its length. @param {Cell} cell @param {Run} run @param {number} wide @param {boolean} narrow */
function shortName(cell, { microbatches }, wide, narrow) {
  const spare = Math.floor((wide - 1.9) / textWidth('0', narrow ? TINY : SMALL)) - `${microbatches - 1}`.length;
  return spare > 0 ? label(cell) : spare < 0 ? '' : `${cell.microbatch}`;
}

/** @param {Cell} cell @param {Run} run @param {View} view */
function drawCell(cell, run, { place: { id, narrow, x, y, row, base }, time, before }) {
  const { op, stage, microbatch, start, end, held: count } = cell;
  const [role, word] = KINDS[op];
  const [left, top, full, stop] = [x(start), y(stage), x(end) - x(start), Math.min(end, time)];
  const [gap, inset] = [Math.min(1.5, full / 5), Math.min(8, full / 3)];
  const grown = Math.max(0, before - start) / (stop - start);
  const [message] = cell.needs;
  const height = message?.stage === stage ? row - 4 : row / 2; // under the names, where it passes others
  const name = end <= time && shortName(cell, run, full, narrow);
  const mark = markup`class="sw-schedule-cell${grown < 1 && ' sw-schedule-new'}"${grown < 1 && markup` style="--from:${grown}"`} ${ask(
    `${word} of micro-batch ${microbatch} on device ${stage}, ${span(start, end)}. It needs ${needs(cell)}. The device holds ${microbatchCount(count)}${op === 'B' ? `, then ${count - 1}` : ''}.`, `${label(cell)}-${stage}`)}`;
  const box = (/** @type {unknown} */ extra) => markup`<rect ${extra} x="${left + gap / 2}" y="${top}" width="${Math.max(0, x(stop) - left - gap)}" height="${row}" rx="${Math.min(4, full / 5)}" ${texture(id, role)}/>`;
  // A group where there is a name to hold, and no more: the largest schedules have a thousand of these.
  return markup`${name ? markup`<g ${mark}>${box('')}${write(left + full / 2, top + base, `${narrow ? 'tiny' : 'small'} sw-number sw-on-${role} sw-stroke-${role}`, name, 'middle')}</g>` : box(mark)}
${message && markup`<path class="sw-schedule-needs" d="${cell.needs.map((need) => `M${x(need.start)} ${y(need.stage)}H${x(need.end)}v${row}H${x(need.start)}z`)}M${x(message.end) - inset} ${y(message.stage) + height}L${left + inset} ${top + height}"/>`}`;
}

/** @param {State} state @param {Place} place */
function legend({ policy, backward_cost }, { narrow, top }) {
  const [forward, backward] = narrow || policy === OWN ? ['', ''] : [': 1', `: ${backward_cost}`];
  return [['parameters', 'F', `forward${forward}`], ['gradients', 'B', `backward${backward}`], ['idle', '–', 'idle']].map(([role, letter, text], i) => {
    const left = i * (narrow ? 92 : 136);
    return markup`${swatch(role, letter, left, top - 48)}${write(left + 26, top - 33, `${narrow ? 'tiny' : 'small'} sw-fill-muted`, text)}`;
  });
}

/** @param {number} makespan @param {Place} place */
const timeAxis = (makespan, { x, axis, end, left, narrow }) => markup`<path d="M${left} ${axis}H${end}" class="sw-line sw-stroke-rule"/>
${ticks(makespan, narrow ? 4 : 8).map((tick) => markup`<path d="M${x(tick)} ${axis}v4" class="sw-line sw-stroke-rule"/>${write(x(tick), axis + 18, MUTED, number(tick), 'middle')}`)}`;

/** What a device holds over time, as high as its share of all micro-batches. @param {Run} run @param {number} stage @param {View} view */
function held({ rows, peaks, microbatches }, stage, { place, time, before }) {
  const { id, x, row, base, panel, y, top: grid, width } = place;
  const top = y(stage) - grid + panel;
  const bottom = top + row;
  const level = (/** @type {number} */ count) => bottom - (count / microbatches) * row;
  const changes = rows[stage].map(({ op, start, end, held: count }) => (op === 'F' ? [start, count] : [end, count - 1]));
  /** @param {number} from @param {number} to @param {unknown} [moves] */
  const area = (from, to, moves) => markup`<path d="M${x(from)} ${bottom}V${level(changes.findLast(([at]) => at <= from)?.[1] ?? 0)}${changes.filter(([at]) => at > from && at < to).map(([at, count]) => `H${x(at)}V${level(count)}`)}H${x(to)}V${bottom}z" ${texture(id, 'activations')}${moves}/>`;
  const first = rows[stage].find((cell) => cell.held === peaks[stage])?.start;
  return markup`${track(stage, top, place)}
<g ${ask(`Device ${stage} holds activations of ${microbatchCount(heldAt(rows[stage], time))} at time ${number(time)}, and of at most ${peaks[stage]}, from time ${number(first ?? 0)}.`, `h${stage}`)}>${area(0, before)}${time > before && area(before, time, markup` class="sw-schedule-new" style="--from:0"`)}${write(width, top + base, `${NUMBER} sw-strong`, peaks[stage], 'end')}</g>`;
}

/** @param {State} state */
function say(state) {
  const { run, policy, stages, step } = state;
  const time = now(state);
  const ended = run.rows.flat().filter(({ end }) => end === time).map((cell) => `${label(cell)} on device ${cell.stage}`).join(', ');
  if (step < run.times.length) {
    return `Time ${number(time)} of ${number(run.makespan)}: ${step ? `${ended} ended` : 'nothing has run'}. ` +
      `Device 0 holds ${microbatchCount(heldAt(run.rows[0], time))}.`;
  }
  const peaks = stages > 1 ? `, device ${stages - 1} at most ${run.peaks[stages - 1]}` : '';
  return `${NAMES[/** @type {keyof typeof NAMES} */ (policy)]}: ${plural(stages, 'stage')}, ${microbatchCount(run.microbatches)}; ` +
    `makespan ${number(run.makespan)}, of which devices idle ${percent(run.bubble)}. Device 0 holds at most ${run.peaks[0]}${peaks}.`;
}

/** What each device does between one step and the next. @param {State} state */
function table({ run }) {
  const doing = (/** @type {Cell[]} */ row, /** @type {number} */ from, /** @type {number} */ to) =>
    row.filter(({ start, end }) => start < to && end > from).map(label).join(' ') || '–';
  return {
    caption: 'What each device does; a forward takes 1',
    head: ['Time', ...run.rows.map((_, stage) => `Device ${stage}`)],
    rows: [
      ...run.times.map((to, i) => [`${number(run.times[i - 1] ?? 0)}–${number(to)}`, ...run.rows.map((row) => doing(row, run.times[i - 1] ?? 0, to))]),
      ['Idle', ...run.idle.map(number)],
      ['Most held', ...run.peaks],
    ],
  };
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  derive,
  show: (state) => ({
    policy: { options: given.controls[0].options.slice(0, state.cells?.length ? 3 : 2) },
    step: { last: state.run.times.length, text: `${number(now(state))} of ${number(state.run.makespan)}` },
  }),
  // Whoever sees a whole schedule sees the next one whole too. One's own has no other size: for that, ours comes in.
  change({ policy, stages, microbatches, step, run }, name, value) {
    if (name === 'step') return { step: value };
    return { policy: policy === OWN ? POLICIES[0] : policy, stages, microbatches, ...(step === run.times.length && { step: END }), [name]: value };
  },
  draw,
  say,
  // The pipeline fills until its last device has work.
  phase: (state) => String(Math.sign(now(state) - state.run.rows[state.stages - 1][0].start)),
  table,
};
