import { LAYOUTS } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'CausalBalance',
  className: 'sw-balance',
  title: 'Causal work by device',
  addressKey: 'balance',
  fields: {
    devices: { kind: 'whole', least: 2, most: 32 },
    block: { kind: 'whole', least: 1, most: 256 },
    layout: { kind: 'one', of: LAYOUTS },
  },
  controls: [
    { kind: 'range', name: 'devices', label: 'Devices', stops: Array.from({ length: 31 }, (_, i) => i + 2) },
    { kind: 'range', name: 'block', label: 'Tokens each', stops: [1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256] },
    { kind: 'choice', name: 'layout', label: 'Layout', options: LAYOUTS.map((value) => ({ value, text: value })) },
  ],
});
