// What stands around the memory budget.
import { formatBytes, formatCount, plural } from '../shared/format.js';
import { given } from './given.js';
import { amounts } from './model.js';

export const prompts = [
  'Find the largest model that one 80 GB GPU trains at stage 0 with 16 bytes per parameter. How large can it be with 8?',
  'Set 7.5 billion parameters and 64 devices and go from stage 0 to stage 3. Which step saves most?',
  'Stay at stage 2 and raise the number of devices to the end. What is the bar made of that no device can give away?',
];

/** @param {import('./model.js').State} state */
export function alt(state) {
  const bytes = amounts(state);
  const parts = /** @type {(keyof typeof given.names)[]} */ (Object.keys(given.names)).filter((kind) => kind !== 'activations' || bytes.activations);
  return `Memory of one of ${plural(state.devices, 'device')} at ZeRO stage ${state.stage}, ${formatCount(state.params)} parameters: ` +
    `${parts.map((part) => `${given.names[part]} ${formatBytes(bytes[part])}`).join(', ')}; ${formatBytes(bytes.total)} against a GPU of ${state.gpu} GB`;
}
