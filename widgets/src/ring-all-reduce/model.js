// Replays a recorded ring all-reduce: what every device holds after a number of steps, whose contributions a
// value sums, and what has been sent. All values come from the recording; nothing is computed here.

/** A number, or the short text of one of the reader's own. @typedef {number | string} Value */
/** `sum` is what the receiver holds after adding. @typedef {[source: number, destination: number, chunk: number, bytes: number, value: Value, sum?: Value]} Transfer */
/**
 * @typedef {object} Run
 * @property {number} devices
 * @property {Value[][]} start `start[device][chunk]`: what each device brings
 * @property {number} bytes size of one device's tensor, M
 * @property {{ op: string, transfers: Transfer[] }[]} steps
 * @property {{ start: string[][], steps: string[][] }} [texts] the elements of chunks, of the reader's own tensors
 */
/**
 * @typedef {object} Cell
 * @property {Value} value
 * @property {string} [text] its elements
 * @property {number[]} from devices whose contributions the value sums, in the order of addition
 * @property {boolean} done all contributions are in
 * @property {boolean} spent the sum has moved on, and this copy waits to be overwritten
 */

export const MIN_DEVICES = 2;
export const MAX_DEVICES = 8;
export const DEVICES = Array.from({ length: MAX_DEVICES - MIN_DEVICES + 1 }, (_, i) => MIN_DEVICES + i);

/** @param {number} devices */
export const lastStep = (devices) => 2 * (devices - 1);

/** Whether a recording has a run's form; what else may be wrong with one shows when it is drawn. @param {Run} run */
export function isRun({ devices: n, start, steps }) {
  const whole = (/** @type {any[]} */ list) => list.length === n;
  return whole(start) && start.every(whole) && steps.length === lastStep(n) &&
    steps.every(({ transfers }) => whole(transfers) && transfers.every(([from, to]) => to === (from + 1) % n));
}

/** @param {Run} run @returns {Cell[][]} */
const beginning = (run) =>
  run.start.map((row, device) => row.map((value, chunk) => ({ value, text: run.texts?.start[device][chunk], from: [device], done: false, spent: false })));

/**
 * The grid after `count` steps.
 * @param {Run} run
 * @param {number} count
 */
export function gridAfter(run, count) {
  let grid = beginning(run);
  run.steps.slice(0, count).forEach(({ transfers }, step) => {
    const before = grid;
    grid = before.map((row) => row.map((cell) => ({ ...cell })));
    transfers.forEach(([source, destination, chunk, , value, sum], i) => {
      const sent = before[source][chunk];
      const from = sum === undefined ? sent.from : [...sent.from, ...before[destination][chunk].from];
      grid[destination][chunk] = { value: sum ?? value, text: run.texts?.steps[step][i], from, done: from.length === run.devices, spent: false };
      grid[source][chunk].spent = sum !== undefined;
    });
  });
  return grid;
}

/** Bytes that one device has sent after `count` steps. @param {Run} run @param {number} count @param {number} device */
export const sentBy = (run, count, device) =>
  run.steps.slice(0, count).reduce(
    (sum, { transfers }) => sum + transfers.reduce((bytes, [source, , , size]) => bytes + (source === device ? size : 0), 0),
    0,
  );

/** What each device sends in all where its tensor cuts into N equal chunks: 2(N−1)/N·M. @param {Run} run */
export const bytesInAll = ({ devices, bytes }) => (2 * (devices - 1) * bytes) / devices;

/** @param {Run} run @param {number} count */
export function phaseAfter(run, count) {
  if (count === 0) return 'start';
  return run.steps[count - 1].op === 'reduce_scatter' ? 'reduce-scatter' : 'all-gather';
}

/** @param {Cell[][]} grid */
export const doneCells = (grid) => grid.flat().filter(({ done }) => done).length;
