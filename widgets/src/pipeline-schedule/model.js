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
export const END = 512;

/** @param {Slot[]} slots @param {number} stage @param {number} microbatch @param {Op} op */
const find = (slots, stage, microbatch, op) => slots.find((slot) => slot[0] === stage && slot[1] === microbatch && slot[2] === op);

/** The slot whose message another waits for: a forward's comes from the stage before. @param {Slot[]} slots @param {Slot} slot */
const messageOf = (slots, [stage, microbatch, op]) => find(slots, op === 'F' ? stage - 1 : stage + 1, microbatch, op);

/**
 * A schedule: each operation starts as soon as its device is free and its message is there. A forward costs 1.
 * A device takes turns once as many forwards have begun as 1F1B lets it hold: the stages from its own on. GPipe lets
 * it hold all.
 * @param {Traits} traits
 * @returns {Slot[]} in time order
 */
export function schedule({ policy, stages, microbatches, backward_cost: cost }) {
  const rows = Array.from({ length: stages }, (_, stage) => {
    const cap = policy === '1f1b' ? Math.min(microbatches, stages - stage) : microbatches;
    const next = { F: 0, B: 0 };
    return /** @type {Op[]} */ ([...'F'.repeat(cap) + 'BF'.repeat(microbatches - cap) + 'B'.repeat(cap)]).map((op) => /** @type {any} */ ([stage, next[op]++, op]));
  });
  const slots = rows.flat();
  /** @param {Slot} [slot] @returns {number} */
  const end = (slot) => {
    if (!slot) return 0;
    const row = rows[slot[0]];
    slot[3] ??= Math.max(end(row[row.indexOf(slot) - 1]), end(messageOf(slots, slot)));
    return (slot[4] = slot[3] + (slot[2] === 'F' ? 1 : cost));
  };
  slots.forEach(end);
  return slots.sort((a, b) => a[3] - b[3] || a[0] - b[0]);
}

/** What a schedule needs in time and in room. @param {Slot[]} slots @returns {Run} */
export function analyse(slots) {
  const cells = slots.map(([stage, microbatch, op, start, end]) => ({ stage, microbatch, op, start, end, held: 0, needs: /** @type {Cell[]} */ ([]) }));
  /** @type {Cell[][]} */
  const rows = [];
  cells.forEach((cell, i) => {
    const { op, stage, microbatch } = cell;
    const row = (rows[stage] ??= []);
    // A device holds a micro-batch from the beginning of its forward to the end of its backward.
    cell.held = row.reduce((count, before) => count + (before.op === 'F' ? 1 : -1), +(op === 'F'));
    row.push(cell);
    const needs = [messageOf(slots, slots[i]), op === 'B' && find(slots, stage, microbatch, 'F')];
    cell.needs = needs.flatMap((need) => need ? cells[slots.indexOf(need)] : []);
  });
  const times = [...new Set(cells.map(({ end }) => end))].sort((a, b) => a - b);
  const makespan = times[times.length - 1];
  const microbatches = cells.length / rows.length / 2;
  if (microbatches % 1 || !(makespan > 0)) throw new TypeError('no whole schedule');
  const gaps = rows.map((row) => gapsOf(row, makespan));
  const idle = gaps.map((spans) => spans.reduce((sum, [start, end]) => sum + end - start, 0));
  return {
    cells, rows, times, makespan, gaps, idle, microbatches,
    bubble: idle.reduce((sum, time) => sum + time / makespan, 0) / rows.length,
    peaks: rows.map((row) => Math.max(...row.map(({ held }) => held))),
  };
}

/** @param {Cell[]} row @param {number} makespan */
function gapsOf(row, makespan) {
  let free = 0;
  return [...row, undefined].flatMap((next) => {
    const start = next?.start ?? makespan;
    const gap = /** @type {Gap} */ ([free, start, next]);
    free = next?.end ?? 0;
    return start > gap[0] ? [gap] : [];
  });
}

/** The last run that was asked for: playing asks for one again and again. @type {[what: unknown, run: Run] | undefined} */
let last;

/** The schedule that the traits ask for, and the step within it. @param {Traits} traits @returns {State} */
export function derive(traits) {
  const { policy, stages, microbatches, backward_cost, cells } = traits;
  const own = policy === OWN;
  const what = own ? cells : [policy, stages, microbatches, backward_cost].join();
  if (last?.[0] !== what) last = [what, analyse(own ? cells : schedule(traits))];
  const [, run] = last;
  return { ...traits, run, stages: run.rows.length, microbatches: run.microbatches, step: Math.min(traits.step, run.times.length) };
}

/** Time after the step. @param {State} state */
export const now = ({ run, step }) => (step ? run.times[step - 1] : 0);

/** Micro-batches that a device holds at a time. @param {Cell[]} row @param {number} time */
export const heldAt = (row, time) =>
  row.reduce((count, { op, start, end }) => count + (op === 'F' ? +(start < time || end <= time) : -(end <= time)), 0);
