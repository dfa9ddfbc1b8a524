import { COSTS, END, MAX_MICROBATCHES, MAX_STAGES, NAMES, POLICIES } from './model.js';

const upTo = (/** @type {number} */ most) => Array.from({ length: most }, (_, i) => i + 1);

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'PipelineSchedule',
  className: 'sw-schedule',
  title: 'Pipeline schedule',
  addressKey: 'schedule',
  fields: {
    policy: { kind: 'one', of: POLICIES },
    stages: { kind: 'whole', least: 1, most: MAX_STAGES },
    microbatches: { kind: 'whole', least: 1, most: MAX_MICROBATCHES },
    backward_cost: { kind: 'one', of: COSTS },
    step: { kind: 'whole', least: 0, most: END },
  },
  data: ['cells'],
  controls: [
    { kind: 'choice', name: 'policy', label: 'Schedule', options: Object.entries(NAMES).map(([value, text]) => ({ value, text })) },
    { kind: 'range', name: 'stages', label: 'Stages', stops: upTo(MAX_STAGES) },
    { kind: 'range', name: 'microbatches', label: 'Micro-batches', stops: upTo(MAX_MICROBATCHES).filter((count) => count <= 16 || count % 4 === 0) },
    { kind: 'choice', name: 'backward_cost', label: 'Backward takes', options: COSTS.map((value) => ({ value, text: `${value}×` })) },
    { kind: 'stepper', name: 'step', label: 'Time' },
  ],
});
