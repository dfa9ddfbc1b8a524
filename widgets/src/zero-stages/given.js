import { DEVICES, MAX_DEVICES, MAX_PARAMS, MIN_PARAMS, PARAMS, PARTS, STAGES } from '../memory-budget/model.js';
import { BYTES, collectives, shares } from './model.js';

const ROLES = { params: 'parameters', grads: 'gradients', optimizer: 'optimizer' };
const NAMES = { params: 'parameters', grads: 'gradients', optimizer: 'optimizer state' };
/** Phases of a step: name, role, where each begins and how long it is drawn, and what happens in it at a stage.
 * @type {[string, string, number, number, (stage: number) => string][]} */
const PHASES = [
  ['forward', 'parameters', 0, 2, () => ': each device on its own part of the batch'],
  ['backward', 'gradients', 2, 3, () => ': each device on its own part of the batch'],
  ['update', 'optimizer', 5, 2, (stage) => `: each device updates ${stage ? 'its slice, Ψ/N' : 'all Ψ'} parameters`],
];

/** The order of one step, not its duration: what runs, and what travels beside or after it. Where each begins, how long
 * it is, how far down, role, name, what it does and, of a collective, its trips.
 * @param {number} stage @returns {[from: number, long: number, top: number, role: string, name: string, does: string, trips: number][]} */
const step = (stage) => [
  ...PHASES.map(([name, role, from, long, does]) => /** @type {any} */ ([from, long, 20, role, name, does(stage), 0])),
  ...collectives(stage).map(({ phase, op, part, trips }) => {
    const [, , from, long] = PHASES[phase];
    const does = ` of ${NAMES[part]}${stage > 2 ? ', layer by layer' : ''}: each device sends ${trips > 1 ? trips : ''}Ψ(N−1)/N · 2 bytes = {bytes}`;
    return [from, long, part === 'params' ? 52 : 96, 'communication', op, does, trips];
  }),
];

/** 4Ψ + 12Ψ/N @param {number} stage */
const formula = (stage) => shares(stage).map((bytes, split) => bytes && `${bytes}Ψ${split ? '/N' : ''}`).filter(Boolean).join(' + ');

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
  label: 'Training state by device',
  /** Part, role, letter, name, bytes of a parameter. */
  parts: PARTS.map((part) => /** @type {const} */ ([part, ROLES[part], ROLES[part][0].toUpperCase(), NAMES[part], BYTES[part]])),
  formulas: STAGES.map(formula),
  steps: STAGES.map(step),
  /** By whether there is little room. */
  unit: ['on each device', 'on each'],
  less: ['{factor} less than at stage 0', '{factor} less'],
  device: ['device {device}', '{device}'],
  arrow: ['→ {bytes}', '{bytes}'],
  alone: 'nothing to split',
  same: 'the same {devices} times over',
  more: '⋯ {count} more',
  part: 'Device {device}, {part}: {share}, {bytes}Ψ{split} = {size}',
  slice: 'slice {number} of {devices}',
  whole: 'a whole copy',
  sum: 'Device {device}: {formula} = {size}',
  share: '{bytes} bytes each, {share} per device',
  copy: 'a copy',
  about: '{part}: {share}: {size}',
  leaves: 'What a stage leaves on each',
  stage: 'stage {stage}',
  cell: 'Stage {stage}: {formula} = {size} on each device, {factor} less than at stage 0; each sends {sent} a step',
  step: 'One step',
  sends: 'each sends {sent}',
  said: 'Stage {stage}: {says}. {params} parameters on {devices}: {formula} = {size} on each, which sends {sent} in a step.',
  says: [
    'every device holds a copy of everything, and all-reduces the gradients',
    'each device keeps and updates its slice, and an all-gather gives everyone the new parameters',
    'each device keeps only the gradients of its slice',
    'parameters are slices too, gathered for each layer before its forward and its backward pass; that layer needs room besides',
  ],
  caption: '{params} parameters on {devices}: what each holds, and sends in a step',
  head: ['stage', ...Object.values(NAMES), 'sum', 'less', 'sends'],
});
