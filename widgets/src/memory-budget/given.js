import { ACTIVATIONS, DEVICES, GPUS, LARGEST_GPU, MAX_DEVICES, MAX_PARAMS, MIN_PARAMS, PARAMS, RECIPES, STAGES } from './model.js';

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'MemoryBudget',
  className: 'sw-memory',
  title: 'Memory budget',
  addressKey: 'memory',
  fields: {
    params: { kind: 'whole', least: MIN_PARAMS, most: MAX_PARAMS },
    devices: { kind: 'whole', least: 1, most: MAX_DEVICES },
    stage: { kind: 'one', of: STAGES },
    gpu: { kind: 'one', of: GPUS },
    recipe: { kind: 'one', of: RECIPES },
    activations: { kind: 'number', least: 0, most: LARGEST_GPU },
  },
  data: ['recipes'],
  controls: [
    { kind: 'range', name: 'params', label: 'Parameters', stops: PARAMS },
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES },
    { kind: 'choice', name: 'stage', label: 'ZeRO stage', options: STAGES.map((value) => ({ value, text: `${value}` })) },
    { kind: 'select', name: 'gpu', label: 'GPU memory', options: GPUS.map((value) => ({ value, text: `${value} GB` })) },
    { kind: 'select', name: 'recipe', wide: true, label: 'Bytes per parameter' },
    { kind: 'range', name: 'activations', label: 'Activations', stops: ACTIVATIONS },
  ],
});
