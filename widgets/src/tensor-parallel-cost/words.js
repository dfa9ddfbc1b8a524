// What stands around the cost of tensor parallelism.
import { compact, duration, formatBytes, plural } from '../shared/format.js';
import { percent } from './index.js';
import { cost } from './model.js';

export const prompts = [
  'Go from 8 devices to 64. What becomes of the parameters, of the bytes, and of the time? Which of them is the reason to stay within a node?',
  'Halve d_model at 8 devices: how much is left of the parameters, and how much of the bytes?',
  'Raise the tokens to the end. The bytes grow with them; what happens to the share of the time, and why?',
];

/** @param {import('./model.js').State} state */
export function alt(state) {
  const { params, bytes, share, compute, allReduces } = cost(state);
  return `Cost of tensor parallelism over 1 to 64 devices; on ${plural(state.devices, 'device')} a layer of width ${state.d_model} leaves ${compact(params)} parameters on each, ` +
    `which sends ${formatBytes(bytes)} of at most ${formatBytes(cost({ ...state, devices: Infinity }).bytes)} and spends ${percent(share)} of ${duration(compute + allReduces)} in all-reduces`;
}
