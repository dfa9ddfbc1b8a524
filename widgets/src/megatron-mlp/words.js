// What stands around the split MLP.
import { plural } from '../shared/format.js';

export const prompts = [
  'Step through the forward pass. In how many steps is anything sent, and what is it that travels?',
  'Compare f and g in the forward pass and in the backward pass: which of them adds, and what does the other do meanwhile?',
  'Stop at GeLU with 2 devices and then with 4. Which shapes change, and which stay whole on every device?',
];

/** @param {import('./model.js').State} state */
export const alt = ({ run, step, devices }) =>
  `A feed-forward block on ${plural(devices, 'device')}, step ${step}, ${run.steps[step].title}. ${run.steps[step].says}`;

/** @param {import('./model.js').State} state */
export const code = ({ run, devices, step }) => `MegatronMLP${run.own ? '.from_weights(x, A, B, num_' : '('}devices=${devices}, step=${step})`;
