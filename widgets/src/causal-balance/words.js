import { digits } from '../shared/format.js';
import { LAYOUTS, balance } from './model.js';

/** @typedef {import('./model.js').State} State */

export const prompts = [
  'Keep contiguous blocks and raise the devices from 2 to 32. Which factor does the ring’s time approach?',
  'Give each of 8 devices 1 token: why do all three layouts agree? Then raise it: where does the factor of striped go?',
  'Choose zigzag and go through 1, 2, 3, 4 tokens. When is the work exactly even?',
];

/** @param {State} state */
export function alt(state) {
  const { work } = balance(state);
  return `Causal (query, key) pairs that each of ${state.devices} devices computes with ${state.block} tokens each, ${state.layout}: ${work.join(', ')}. ` +
    `The busiest takes, relative to even work: ${LAYOUTS.map((layout) => `${layout} ${digits(balance(state, layout).slowdown)}`).join(', ')}`;
}
