// Reads a recorded ring attention: who holds which block in which step, what it absorbs and what was sent.
// Only the shape of a tile is computed here, from the positions of its tokens.
import { LAYOUTS, runsOf } from '../causal-balance/model.js';

/**
 * @typedef {object} Run
 * @property {number} devices P
 * @property {boolean} causal
 * @property {string} layout
 * @property {number} tokens of the whole sequence, L
 * @property {number[][]} held `held[t][p]`: the block of keys and values that device p absorbs in step t + 1
 * @property {number[]} bytes of each block of keys and values
 * @property {number[][]} pairs `pairs[p][j]`: the (query, key) pairs of device p with block j that the mask leaves
 * @property {(number | null)[][]} top `top[t][p]`: largest logit so far of the device's last query; null: none yet
 * @property {number[][]} sums `sums[t][p]`: its sum of exponentials, relative to that logit
 * @property {number} error largest |ring − full attention|
 */
/** @typedef {'done' | 'now' | 'skipped' | 'open'} Kind */

export const [MIN_DEVICES, MAX_DEVICES] = [2, 8];

/** @param {unknown} value @param {number} length @param {(entry: any) => boolean} right */
const isList = (value, length, right) => Array.isArray(value) && value.length === length && value.every(right);

/** Throws unless a recording is whole, so that no drawing can fail on the way. @param {any} run */
export function checkRun(run) {
  const n = run?.devices;
  const count = (/** @type {any} */ x) => Number.isSafeInteger(x) && x >= 0;
  const table = (/** @type {unknown} */ value, /** @type {(x: any) => boolean} */ right) =>
    isList(value, n, (row) => isList(row, n, right));
  const whole =
    count(n) && n >= MIN_DEVICES && n <= MAX_DEVICES &&
    typeof run.causal === 'boolean' && LAYOUTS.includes(run.layout) &&
    count(run.tokens) && run.tokens >= n && Number.isFinite(run.error) &&
    table(run.held, (x) => count(x) && x < n) && isList(run.bytes, n, count) && table(run.pairs, count) &&
    table(run.top, (x) => x === null || Number.isFinite(x)) && table(run.sums, Number.isFinite);
  if (!whole) throw new Error('steps must be the recording of a ring attention');
}

/** The step, counted from 1, in which a device absorbs a block. @param {Run} run @param {number} device @param {number} block */
export const stepOf = ({ held }, device, block) => held.findIndex((row) => row[device] === block) + 1;

/** What has become of a tile after `step` steps. @param {Run} run @param {number} device @param {number} block @param {number} step @returns {Kind} */
export function kindOf(run, device, block, step) {
  if (!run.pairs[device][block]) return 'skipped';
  const at = stepOf(run, device, block);
  return at > step ? 'open' : at < step ? 'done' : 'now';
}

/** Pairs of a device, or of all, in some kinds of tile. @param {Run} run @param {number} step @param {Kind[]} kinds @param {number} [device] */
export const pairsIn = (run, step, kinds, device) =>
  run.pairs.reduce((sum, row, p) => sum + row.reduce((all, pairs, j) =>
    all + ((device ?? p) === p && kinds.includes(kindOf(run, p, j, step)) ? pairs : 0), 0), 0);

/** Bytes that a device has sent once it has absorbed `step` blocks: it sends each on but the last. @param {Run} run @param {number} step @param {number} device */
export const sentBy = (run, step, device) =>
  run.held.slice(0, Math.max(0, step - 1)).reduce((sum, row) => sum + run.bytes[row[device]], 0);

/** @param {Run} run @param {number} device */
export const runsIn = ({ layout, devices, tokens }, device) => runsOf(layout, devices, tokens, device);

/** @param {Run} run @param {number} device */
export const tokensOf = (run, device) => runsIn(run, device).reduce((sum, [, count]) => sum + count, 0);

/** Position of a device's a-th token. @param {Run} run @param {number} device @param {number} a */
function position(run, device, a) {
  for (const [first, count, stride] of runsIn(run, device)) {
    if (a < count) return first + a * stride;
    a -= count;
  }
  return NaN;
}

/** Position of the last query of a device. @param {Run} run @param {number} device */
export const lastPosition = (run, device) => position(run, device, tokensOf(run, device) - 1);

const MOST_ROWS = 8; // of a tile: longer blocks are drawn by a few of their queries

/**
 * The shape of a tile, row by row: the share of the block's keys that a query sees. Its keys ascend, so those are
 * the first ones. A tile that is skipped keeps its whole shape.
 * @param {Run} run
 * @param {number} device
 * @param {number} block
 */
export function shares(run, device, block) {
  const [queries, keys] = [tokensOf(run, device), tokensOf(run, block)];
  const rows = Math.min(queries, MOST_ROWS);
  return Array.from({ length: rows }, (_, row) => {
    if (!run.causal || !run.pairs[device][block]) return 1;
    const at = position(run, device, Math.floor(((row + 0.5) * queries) / rows));
    return runsIn(run, block).reduce((sum, [first, count, stride]) =>
      sum + Math.max(0, Math.min(count, Math.floor((at - first) / stride) + 1)), 0) / keys;
  });
}
