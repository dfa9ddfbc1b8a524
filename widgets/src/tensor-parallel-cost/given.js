import { CLUSTERS, DEVICES, MAX_TOKENS, MAX_WIDTH, MIN_WIDTH, TOKENS, WIDTHS } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'TensorParallelCost',
  className: 'sw-tpcost',
  title: 'Cost of tensor parallelism',
  addressKey: 'tpcost',
  fields: {
    devices: { kind: 'one', of: DEVICES },
    d_model: { kind: 'whole', least: MIN_WIDTH, most: MAX_WIDTH },
    tokens: { kind: 'whole', least: 1, most: MAX_TOKENS },
    cluster: { kind: 'one', of: CLUSTERS },
  },
  data: ['clusters'],
  controls: [
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES },
    { kind: 'range', name: 'd_model', label: 'd_model', stops: WIDTHS },
    { kind: 'range', name: 'tokens', label: 'Tokens b·s', stops: TOKENS },
    { kind: 'choice', name: 'cluster', label: 'Cluster', options: CLUSTERS.map((value) => ({ value, text: value })) },
  ],
});
