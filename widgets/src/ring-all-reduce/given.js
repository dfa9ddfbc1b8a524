import { DEVICES, MAX_DEVICES, MIN_DEVICES, lastStep } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'RingAllReduce',
  className: 'sw-ring',
  title: 'Ring all-reduce',
  addressKey: 'ring',
  fields: {
    devices: { kind: 'whole', least: MIN_DEVICES, most: MAX_DEVICES },
    step: { kind: 'whole', least: 0, most: lastStep(MAX_DEVICES) },
  },
  data: ['steps', 'runs'],
  controls: [
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES },
    { kind: 'stepper', name: 'step', label: 'Step' },
  ],
});
