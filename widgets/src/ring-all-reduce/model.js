// Replays a recorded ring all-reduce: what every device holds after a number of steps, whose contributions a
// value sums, and what has been sent. The values come from the recording; nothing is computed here but sums.

/** @typedef {[source: number, destination: number, chunk: number, bytes: number, value: number]} Transfer */
/**
 * @typedef {object} Run
 * @property {number} devices
 * @property {number[][]} start `start[device][chunk]`: what each device brings
 * @property {number} bytes size of one device's tensor, M
 * @property {{ op: string, transfers: Transfer[] }[]} steps
 */
/**
 * @typedef {object} Cell
 * @property {number} value
 * @property {number[]} from devices whose contributions the value sums, in the order of addition
 * @property {boolean} done all contributions are in
 * @property {boolean} spent the sum has moved on, and this copy waits to be overwritten
 */

export const MIN_DEVICES = 2;
export const MAX_DEVICES = 8;
export const DEVICES = Array.from({ length: MAX_DEVICES - MIN_DEVICES + 1 }, (_, i) => MIN_DEVICES + i);

/** @param {number} devices */
export const lastStep = (devices) => 2 * (devices - 1);

/** Whether a value is a list of so many entries that are all right.
 * @param {unknown} value @param {number} length @param {(entry: any) => boolean} right */
const isList = (value, length, right) => Array.isArray(value) && value.length === length && value.every(right);

/** Throws unless a recording is whole, so that its replay can't fail on the way. @param {any} run */
export function checkRun(run) {
  const n = run?.devices;
  const one = (/** @type {unknown} */ index) => Number.isInteger(index) && Number(index) >= 0 && Number(index) < n;
  const whole =
    DEVICES.includes(n) &&
    Number.isFinite(run.bytes) &&
    isList(run.start, n, (row) => isList(row, n, Number.isFinite)) &&
    isList(run.steps, lastStep(n), (step) =>
      ['reduce_scatter', 'all_gather'].includes(step?.op) &&
      isList(step.transfers, n, (transfer) => isList(transfer, 5, Number.isFinite) && transfer.slice(0, 3).every(one)));
  if (!whole) throw new Error('steps must be the recording of a ring all-reduce');
}

/** @param {Run} run @returns {Cell[][]} */
const beginning = (run) =>
  run.start.map((row, device) => row.map((value) => ({ value, from: [device], done: false, spent: false })));

/**
 * The grid after `count` steps.
 * @param {Run} run
 * @param {number} count
 */
export function gridAfter(run, count) {
  let grid = beginning(run);
  for (const { op, transfers } of run.steps.slice(0, count)) {
    const before = grid;
    grid = before.map((row) => row.map((cell) => ({ ...cell })));
    for (const [source, destination, chunk, , value] of transfers) {
      const sent = before[source][chunk];
      const there = before[destination][chunk];
      if (op === 'reduce_scatter') {
        const from = [...sent.from, ...there.from];
        grid[destination][chunk] = { value: there.value + value, from, done: from.length === run.devices, spent: false };
        grid[source][chunk].spent = true;
      } else {
        grid[destination][chunk] = { value, from: sent.from, done: sent.done, spent: false };
      }
    }
  }
  return grid;
}

/** Bytes that one device has sent after `count` steps. @param {Run} run @param {number} count @param {number} device */
export const sentBy = (run, count, device) =>
  run.steps.slice(0, count).reduce(
    (sum, { transfers }) => sum + transfers.reduce((bytes, [source, , , size]) => bytes + (source === device ? size : 0), 0),
    0,
  );

/** What the theory says that each device sends in all: 2(N−1)/N·M. @param {Run} run */
export const bytesInAll = ({ devices, bytes }) => (2 * (devices - 1) * bytes) / devices;

/** @param {Run} run @param {number} count */
export function phaseAfter(run, count) {
  if (count === 0) return 'start';
  return run.steps[count - 1].op === 'reduce_scatter' ? 'reduce-scatter' : 'all-gather';
}

/** @param {Cell[][]} grid */
export const doneCells = (grid) => grid.flat().filter(({ done }) => done).length;
