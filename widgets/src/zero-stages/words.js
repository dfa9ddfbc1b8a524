// What stands around the drawing: questions that it answers, and its name as an ordinary image.
import { formatBytes, formatCount, plural } from '../shared/format.js';
import { given } from './given.js';
import { collectives, kept, sentBytes } from './model.js';

export const prompts = [
  'Go from stage 0 to stage 3. At which step do the bytes on a device fall most, and at which do the bytes sent rise?',
  'Stay at stage 1 and raise the devices to the end. What does each device still hold a whole copy of?',
  'Set stage 2 and 8 devices. Which two collectives send as much together as the all-reduce of stage 0, and beside what does each run?',
];

/** @param {import('./model.js').State} state */
export function alt(state) {
  const bytes = kept(state);
  return `ZeRO stage ${state.step}, ${formatCount(state.params)} parameters on ${plural(state.devices, 'device')}. Each device holds ` +
    `${given.parts.map(([part, , , name]) => `${formatBytes(bytes[part])} of ${name}`).join(', ')}, ${formatBytes(bytes.total)} in all; ` +
    `in a step it sends ${formatBytes(sentBytes(state))}: ${collectives(state.step).map(({ op, part }) => `${op} of ${part === 'params' ? 'parameters' : 'gradients'}`).join(', ')}`;
}
