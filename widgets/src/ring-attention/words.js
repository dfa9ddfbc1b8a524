import { plural } from '../shared/format.js';
import { pairsIn } from './model.js';

/** @typedef {import('./index.js').State} State */

export const prompts = [
  'Go to the end. How many blocks does a device hold at once, how many has it absorbed, and why is one hop less than P enough?',
  'Set the causal mask with contiguous tokens and step on. Which devices skip, and how many pairs has the busiest in each step?',
  'Choose striped, then zigzag. How many tiles are skipped now, and what becomes of the busiest device’s step?',
];

/** @param {State} state */
export function alt({ steps: run, step }) {
  const at = Math.min(step, run.devices);
  const held = run.held[Math.max(0, at - 1)].map((block, device) => `device ${device} holds block ${block}`).join(', ');
  return `Ring attention of ${run.devices} devices over ${plural(run.tokens, 'token')}, ${run.layout}${run.causal ? ', causal' : ''}, after step ${at} of ${run.devices}: ${held}. ` +
    `${pairsIn(run, at, ['done', 'now'])} of ${pairsIn(run, at, ['done', 'now', 'open'])} pairs of query and key are computed`;
}
