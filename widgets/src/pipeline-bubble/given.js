import { percent } from '../shared/format.js';
import { MAX_MICROBATCHES, MAX_STAGES, TARGETS } from './model.js';

/** Every count to `dense`, then sixteen to the octave. @param {number} dense @param {number} most */
const stops = (dense, most) => Array.from({ length: most }, (_, i) => i + 1).filter((n) => n % Math.max(1, 2 ** Math.ceil(Math.log2(n / dense))) === 0);

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
    { kind: 'range', name: 'stages', label: 'Stages P', stops: stops(16, MAX_STAGES) },
    { kind: 'range', name: 'microbatches', label: 'Micro-batches M', stops: stops(32, MAX_MICROBATCHES) },
    { kind: 'select', name: 'target', label: 'Bubble of at most', options: TARGETS.map((value) => ({ value, text: percent(value) })) },
  ],
  label: 'Bubble by micro-batches',
  /** Name and formula of what is marked. */
  facts: {
    total: ['of the total time', '(P − 1)/(M + P − 1) = {p}/({m} + {p})'],
    ideal: ['of the ideal time', '(P − 1)/M = {p}/{m}'],
    four: ['at M = 4P = {m}', '(P − 1)/(5P − 1) = {p}/{all}'],
    target: ['for at most {share}', 'M ≥ (P − 1)(1 − t)/t, t = {target}'],
  },
  fact: '{value} {name}: {formula}.',
  share: 'of the time idle',
  verdict: '{stages}, M = {m}',
  /** What the first device does: role and word. */
  slots: [['parameters', '{n} F'], ['idle', '{n} idle'], ['gradients', '{n} B']],
  slot: 'Device 0: {slots}, of {all} slots in all.',
  /** By whether there is little room. */
  device: ['Device 0: M forwards, 2(P − 1) slots without work, M backwards', 'Device 0: M F, 2(P − 1) idle, M B'],
  curves: [['of the total time', 'of the ideal time'], ['total', 'ideal']],
  rule: ['M = 4P', '4P'],
  chosen: 'M = {m}',
  fewest: 'M\u00a0=\u00a0{m}',
  said: '{stages}, {microbatches}: each device idles {total} of the total time, which is {ideal} of the ideal time. A bubble of at most {target} takes {fewest}.',
  caption: 'Bubble of {stages}',
  head: ['Micro-batches', 'Of the total time', 'Of the ideal time'],
});
