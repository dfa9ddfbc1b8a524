// Pipeline schedules as `shardwise.pipeline.pipeline_schedule` makes them, or as a reader brings one: when each
// cell starts and ends, which cells it waits for, and how many micro-batches its device holds then.

/** @typedef {'F' | 'B'} Op */
/** @typedef {[stage: number, microbatch: number, op: Op, start: number, end: number]} Slot */
/**
 * @typedef {object} Cell
 * @property {number} stage
 * @property {number} microbatch
 * @property {Op} op
 * @property {number} start
 * @property {number} end
 * @property {Cell[]} needs the cell whose message it waits for, then the forward whose activations it uses
 * @property {number} held micro-batches whose activations the device holds while the cell runs
 */
/** @typedef {[start: number, end: number, next: Cell | undefined]} Gap until a cell, or the end */
/**
 * @typedef {object} Run
 * @property {Cell[]} cells in time order
 * @property {Cell[][]} rows the cells of each device
 * @property {number} microbatches
 * @property {number[]} times when something ends: the steps of the run, after 0
 * @property {number} makespan
 * @property {Gap[][]} gaps when each device idles
 * @property {number[]} idle for how long
 * @property {number} bubble share of the makespan that devices idle, on average
 * @property {number[]} peaks most micro-batches that each device holds at a time
 */
/** @typedef {{ policy: string, stages: number, microbatches: number, backward_cost: number, step: number, cells: Slot[] }} Traits */
/** @typedef {Traits & { run: Run }} State */

export const OWN = 'own';
export const MAX_STAGES = 8;
export const MAX_MICROBATCHES = 32;
/** As many steps as the largest schedule can have: whoever asks for this one gets the last. */
export const END = 2 * MAX_STAGES * MAX_MICROBATCHES;

/** The operations of a stage, one after the other. @type {Record<string, (stage: number, stages: number, microbatches: number) => string>} */
const ORDERS = {
  gpipe: (_stage, _stages, m) => 'F'.repeat(m) + 'B'.repeat(m),
  '1f1b': (stage, stages, m) => {
    const cap = Math.min(m, stages - stage);
    return 'F'.repeat(cap) + 'BF'.repeat(m - cap) + 'B'.repeat(cap);
  },
};
export const POLICIES = [...Object.keys(ORDERS), OWN];
export const NAMES = { gpipe: 'GPipe', '1f1b': '1F1B', [OWN]: 'Yours' };
export const COSTS = [1, 1.5, 2, 3];

/** The names by which cells know each other. @param {string} op @param {number} stage @param {number} microbatch */
const key = (op, stage, microbatch) => `${op}${microbatch}-${stage}`;

/**
 * A schedule: each operation starts as soon as its device is free and its message is there. A forward costs 1.
 * @param {Traits} traits
 * @returns {Slot[]} in time order
 */
export function schedule({ policy, stages, microbatches, backward_cost: cost }) {
  const queues = Array.from({ length: stages }, (_, stage) => [...ORDERS[policy](stage, stages, microbatches)]);
  const free = queues.map(() => 0);
  const next = queues.map(() => ({ F: 0, B: 0 }));
  /** @type {Map<string, number>} */
  const ends = new Map();
  /** @type {Slot[]} */
  const slots = [];
  while (slots.length < 2 * stages * microbatches) {
    queues.forEach((queue, stage) => {
      const op = /** @type {Op} */ (queue[0]);
      const microbatch = next[stage][op];
      const source = op === 'F' ? stage - 1 : stage + 1;
      const message = source < 0 || source === stages ? 0 : ends.get(key(op, source, microbatch));
      if (!op || message === undefined) return;
      const start = Math.max(free[stage], message);
      free[stage] = start + (op === 'F' ? 1 : cost);
      ends.set(key(op, stage, microbatch), free[stage]);
      slots.push([stage, microbatch, op, start, free[stage]]);
      next[stage][op] += 1;
      queue.shift();
    });
  }
  return slots.sort((a, b) => a[3] - b[3] || a[0] - b[0]);
}

/** Throws unless a reader's schedule is whole, so that no drawing of it can fail. @param {any} slots */
function checkOwn(slots) {
  const inside = (/** @type {number} */ value, /** @type {number} */ most) => Number.isInteger(value) && value >= 0 && value < most;
  const whole =
    Array.isArray(slots) &&
    slots.every((slot) => {
      const [stage, microbatch, op, start, end] = slot ?? [];
      return inside(stage, MAX_STAGES) && inside(microbatch, MAX_MICROBATCHES) && /^[FB]$/.test(op) && [start, end].every(Number.isFinite) && start >= 0 && end >= start;
    }) &&
    // As many different cells as there are stages, micro-batches and operations: none is missing.
    new Set(slots.map(([stage, microbatch, op]) => key(op, stage, microbatch))).size === slots.length &&
    slots.length === [0, 1].reduce((product, place) => product * (Math.max(...slots.map((slot) => slot[place])) + 1), 2) &&
    slots.some((slot) => slot[4] > 0);
  if (!whole) throw new Error(`policy ${OWN} needs the cells of a whole schedule, as PipelineSchedule.from_schedule gives them`);
}

/** What a schedule needs in time and in room. @param {Slot[]} slots @returns {Run} */
export function analyse(slots) {
  const cells = slots.map(([stage, microbatch, op, start, end]) => ({ stage, microbatch, op, start, end, held: 0, needs: /** @type {Cell[]} */ ([]) }));
  const found = new Map(cells.map((cell) => [key(cell.op, cell.stage, cell.microbatch), cell]));
  /** @type {Cell[][]} */
  const rows = [];
  for (const cell of cells) {
    const { op, stage, microbatch } = cell;
    const before = (rows[stage] ??= []).at(-1);
    // A device holds a micro-batch from the beginning of its forward to the end of its backward.
    cell.held = (before ? before.held - Number(before.op === 'B') : 0) + Number(op === 'F');
    rows[stage].push(cell);
    const needs = [found.get(key(op, op === 'F' ? stage - 1 : stage + 1, microbatch)), op === 'B' && found.get(key('F', stage, microbatch))];
    cell.needs = /** @type {Cell[]} */ (needs.filter(Boolean));
  }
  const times = [...new Set(cells.map(({ end }) => end))].sort((a, b) => a - b);
  const makespan = times[times.length - 1];
  const gaps = rows.map((row) => gapsOf(row, makespan));
  const idle = gaps.map((spans) => spans.reduce((sum, [start, end]) => sum + end - start, 0));
  return {
    cells, rows, times, makespan, gaps, idle,
    microbatches: cells.length / rows.length / 2,
    bubble: idle.reduce((sum, time) => sum + time / makespan, 0) / rows.length,
    peaks: rows.map((row) => Math.max(...row.map(({ held }) => held))),
  };
}

/** @param {Cell[]} row @param {number} makespan */
function gapsOf(row, makespan) {
  let free = 0;
  /** @type {Gap[]} */
  const gaps = [];
  for (const next of [...row, undefined]) {
    const start = next?.start ?? makespan;
    if (start > free) gaps.push([free, start, next]);
    free = next?.end ?? makespan;
  }
  return gaps;
}

/** The last run that was asked for: playing asks for one again and again. @type {[what: unknown, run: Run] | undefined} */
let last;

/** The schedule that the traits ask for, and the step within it. @param {Traits} traits @returns {State} */
export function derive(traits) {
  const { policy, stages, microbatches, backward_cost, cells } = traits;
  const own = policy === OWN;
  const what = own ? cells : [policy, stages, microbatches, backward_cost].join();
  if (last?.[0] !== what) {
    if (own) checkOwn(cells);
    last = [what, analyse(own ? cells : schedule(traits))];
  }
  const [, run] = last;
  return { ...traits, run, stages: run.rows.length, microbatches: run.microbatches, step: Math.min(traits.step, run.times.length) };
}

/** Time after the step. @param {State} state */
export const now = ({ run, step }) => (step ? run.times[step - 1] : 0);

/** Micro-batches that a device holds at a time. @param {Cell[]} row @param {number} time */
export const heldAt = (row, time) =>
  row.reduce((count, { op, start, end }) => count + (op === 'F' ? Number(start < time || end <= time) : -Number(end <= time)), 0);
