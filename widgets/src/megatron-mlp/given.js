import { DEVICES, LAST } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'MegatronMLP',
  className: 'sw-mlp',
  title: 'Megatron MLP',
  addressKey: 'mlp',
  fields: { devices: { kind: 'one', of: DEVICES }, step: { kind: 'whole', least: 0, most: LAST } },
  data: ['steps'],
  controls: [
    { kind: 'choice', name: 'devices', label: 'Devices', options: DEVICES.map((value) => ({ value, text: `${value}` })) },
    { kind: 'choice', name: 'pass', label: 'Pass', options: [{ value: 0, text: 'forward' }, { value: 1, text: 'backward' }] },
    { kind: 'stepper', name: 'step', label: 'Step', last: LAST },
  ],
});
