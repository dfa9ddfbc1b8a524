// What stands around the ring all-reduce.
import { gridAfter } from './model.js';

export const prompts = [
  'Go to the last step of the reduce-scatter. How many finished chunks does each device hold, and which?',
  'Follow one chunk through the all-gather: why does this half cost as many bytes as the first?',
  'Raise the number of devices from 2 to 8 and read the bytes at the end as a multiple of M. Where does it lead?',
];

/** @param {import('./index.js').State} state */
export const alt = ({ steps: run, step }) =>
  `Ring all-reduce over ${run.devices} devices after step ${Math.min(step, run.steps.length)} of ${run.steps.length}: ` +
  gridAfter(run, step).map((row, device) => `device ${device} holds ${row.map(({ value, done }) => `${value}${done ? ' (finished)' : ''}`).join(', ')}`).join('; ');

/** @param {import('./index.js').State} state */
export const code = ({ devices, step, steps }) => `RingAllReduce${steps.texts ? '.from_tensors(tensors, ' : `(devices=${devices}, `}step=${step})`;
