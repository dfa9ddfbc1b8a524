// What stands around the drawing: questions that it answers, and its name as an ordinary image.
import { duration, formatBytes, plural, whole } from '../shared/format.js';
import { given } from './given.js';
import { block, parts, seconds } from './model.js';

/** @typedef {import('./model.js').State} State */

export const prompts = [
  'Go from 1 device to 32. By which factor does the context grow, by which the time of each device, and what stays as it was?',
  'Stay at 32 devices and lower the memory until a device waits. How many tokens would hide its transfers, and how many has it?',
  'Give 32 heads only 8 of keys and values, then keep 32 layers for the backward pass. What fills the memory now?',
];

/** @param {State} state */
export function alt(state) {
  const [compute, send, wait] = seconds(state).map(duration);
  const tokens = block(state);
  return `${plural(state.devices, 'device')} in a ring attend to ${whole(state.devices * tokens)} tokens. Each holds ${formatBytes(state.memory * 1e9)}: ` +
    `${Object.entries(parts(state)).map(([kind, bytes]) => `${given.parts[kind][2]} ${formatBytes(bytes * tokens)}`).join(', ')}. ` +
    `For a layer each computes ${compute}, sends for ${send} and waits ${wait}; context and time grow with the number of devices`;
}
