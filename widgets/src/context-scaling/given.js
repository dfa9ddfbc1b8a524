import { DEVICES, HEADS, HEAD_SIZES, LAYERS, MAX_DEVICES, MAX_HEADS, MAX_LAYERS, MAX_MEMORY, MEMORIES } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'ContextScaling',
  className: 'sw-context',
  title: 'Context scaling',
  addressKey: 'context',
  fields: {
    devices: { kind: 'whole', least: 1, most: MAX_DEVICES },
    memory: { kind: 'number', least: 0, most: MAX_MEMORY },
    heads: { kind: 'whole', least: 1, most: MAX_HEADS },
    kv_heads: { kind: 'whole', least: 1, most: MAX_HEADS },
    head_size: { kind: 'one', of: HEAD_SIZES },
    layers: { kind: 'whole', least: 0, most: MAX_LAYERS },
  },
  data: ['hardware'],
  controls: [
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES },
    { kind: 'range', name: 'memory', label: 'Memory of each', stops: MEMORIES },
    { kind: 'range', name: 'heads', label: 'Heads', stops: HEADS },
    { kind: 'range', name: 'kv_heads', label: 'KV heads' },
    { kind: 'range', name: 'layers', label: 'Layers kept', stops: LAYERS },
    { kind: 'choice', name: 'head_size', label: 'Head size', options: HEAD_SIZES.map((value) => ({ value, text: `${value}` })) },
  ],
});
