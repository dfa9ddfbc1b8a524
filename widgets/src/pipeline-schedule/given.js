import { END, MAX_MICROBATCHES, MAX_STAGES, OWN } from './model.js';

const upTo = (/** @type {number} */ most) => Array.from({ length: most }, (_, i) => i + 1);
const NAMES = { gpipe: 'GPipe', '1f1b': '1F1B', [OWN]: 'Yours' };
const COSTS = [1, 1.5, 2, 3];

/** What is constant: a page's script gets it with the frame. */
export const given = /** @type {const} */ ({
  name: 'PipelineSchedule',
  className: 'sw-schedule',
  title: 'Pipeline schedule',
  addressKey: 'schedule',
  fields: {
    policy: { kind: 'one', of: Object.keys(NAMES) },
    stages: { kind: 'whole', least: 1, most: MAX_STAGES },
    microbatches: { kind: 'whole', least: 1, most: MAX_MICROBATCHES },
    backward_cost: { kind: 'one', of: COSTS },
    step: { kind: 'whole', least: 0, most: END },
  },
  data: ['cells'],
  controls: [
    { kind: 'choice', name: 'policy', label: 'Schedule', options: Object.entries(NAMES).map(([value, text]) => ({ value, text })) },
    { kind: 'range', name: 'stages', label: 'Stages', stops: upTo(MAX_STAGES) },
    { kind: 'range', name: 'microbatches', label: 'Micro-batches', stops: upTo(MAX_MICROBATCHES).filter((count) => count <= 16 || count % 4 === 0) },
    { kind: 'choice', name: 'backward_cost', label: 'Backward takes', options: COSTS.map((value) => ({ value, text: `${value}×` })) },
    { kind: 'stepper', name: 'step', label: 'Time' },
  ],
  names: NAMES,
  label: 'Devices by time',
  share: 'of the time idle',
  makespan: 'makespan {time}',
  /** Role, letter, word, and what a mark of the operation begins with. */
  legend: { F: ['parameters', 'F', 'forward', 'Forward'], B: ['gradients', 'B', 'backward', 'Backward'], '–': ['idle', '–', 'idle'] },
  cost: '{word}: {time}',
  idle: 'idle',
  peak: 'peak',
  /** By whether there is little room. */
  device: ['device {number}', 'd{number}'],
  flight: ['Micro-batches in flight, of {all}', 'In flight, of {all}'],
  span: 'time {start} to {end}',
  cell: '{Kind} of micro-batch {number} on device {device}, {span}. It needs {needs}. The device holds {count}{then}.',
  then: ', then {count}',
  need: '{cell} of device {device} (ended at {time})',
  and: ' and ',
  free: 'no other cell',
  gap: 'Device {device} idle, {span}{why}.',
  why: ': {cell} needs {needs}',
  idles: 'Device {device} idles {time} of {makespan}.',
  holds: 'Device {device} holds activations of {count} at time {time}, and of at most {peak}, from time {first}.',
  whole: '{schedule}: {stages}, {count}; makespan {time}, of which devices idle {share}. Device 0 holds at most {peak}{last}.',
  last: ', device {device} at most {peak}',
  step: 'Time {time} of {makespan}: {ended}. Device 0 holds {count}.',
  ended: '{cells} ended',
  onDevice: '{cell} on device {device}',
  nothing: 'nothing has run',
  of: '{time} of {makespan}',
  caption: 'What each device does; a forward takes 1',
  head: 'Time',
  row: 'Device {number}',
  idleRow: 'Idle',
  heldRow: 'Most held',
  noCells: 'policy own needs the cells of a whole schedule, as PipelineSchedule.from_schedule gives them',
});
