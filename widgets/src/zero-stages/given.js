import { DEVICES, MAX_DEVICES, MAX_PARAMS, MIN_PARAMS, PARAMS } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'ZeroStages',
  className: 'sw-zero',
  title: 'Stages of ZeRO',
  addressKey: 'zero',
  fields: {
    params: { kind: 'whole', least: MIN_PARAMS, most: MAX_PARAMS },
    devices: { kind: 'whole', least: 1, most: MAX_DEVICES },
    step: { kind: 'whole', least: 0, most: 3 },
  },
  controls: [
    { kind: 'range', name: 'params', label: 'Parameters', stops: PARAMS },
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES },
    { kind: 'stepper', name: 'step', label: 'Stage', last: 3 },
  ],
});
