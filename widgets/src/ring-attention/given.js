import { LAYOUTS } from '../causal-balance/model.js';
import { MAX_DEVICES, MIN_DEVICES } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'RingAttention',
  className: 'sw-att',
  title: 'Ring attention',
  addressKey: 'attention',
  fields: {
    devices: { kind: 'whole', least: MIN_DEVICES, most: MAX_DEVICES },
    step: { kind: 'whole', least: 0, most: MAX_DEVICES },
    causal: { kind: 'yes' },
    layout: { kind: 'one', of: LAYOUTS },
  },
  data: ['steps', 'runs'],
  controls: [
    { kind: 'range', name: 'devices', label: 'Devices', stops: [2, 3, 4, 5, 6, 7, 8] },
    { kind: 'choice', name: 'layout', label: 'Layout', options: LAYOUTS.map((value) => ({ value, text: value })) },
    { kind: 'check', name: 'causal', label: 'causal mask' },
    { kind: 'stepper', name: 'step', label: 'Step' },
  ],
});
