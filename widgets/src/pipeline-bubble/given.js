import { percent } from '../shared/format.js';
import { MAX_MICROBATCHES, MAX_STAGES, STAGES, TARGETS } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'PipelineBubble',
  className: 'sw-bubble',
  title: 'Pipeline bubble',
  addressKey: 'bubble',
  fields: {
    stages: { kind: 'whole', least: 1, most: MAX_STAGES },
    microbatches: { kind: 'whole', least: 1, most: MAX_MICROBATCHES },
    target: { kind: 'one', of: TARGETS },
  },
  controls: [
    { kind: 'range', name: 'stages', label: 'Stages P', stops: STAGES },
    { kind: 'range', name: 'microbatches', label: 'Micro-batches M' },
    { kind: 'select', name: 'target', label: 'Bubble of at most', options: TARGETS.map((value) => ({ value, text: percent(value) })) },
  ],
});
