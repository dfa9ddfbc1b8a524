// Reads a recorded ring attention: who holds which block in which step, what it absorbs and what was sent.
// Only the shape of a tile is computed here, from the positions of its tokens.

/**
 * @typedef {object} Run
 * @property {number} devices P
 * @property {boolean} causal
 * @property {string} layout
 * @property {number} tokens of the whole sequence, L
 * @property {number[][]} ids positions of each device's tokens, ascending
 * @property {number[][]} held `held[t][p]`: the block of keys and values that device p absorbs in step t + 1
 * @property {number[]} bytes of each block of keys and values
 * @property {number[][]} pairs `pairs[p][j]`: the (query, key) pairs of device p with block j that the mask leaves
 * @property {(number | null)[][]} top `top[t][p]`: largest logit so far of the device's last query; null: none yet
 * @property {number[][]} sums `sums[t][p]`: its sum of exponentials, relative to that logit
 * @property {number} error largest |ring − full attention|
 */
/** @typedef {'done' | 'now' | 'skipped' | 'open'} Kind */

/** The step, counted from 1, in which a device absorbs a block. @param {Run} run @param {number} device @param {number} block */
export const stepOf = ({ held }, device, block) => held.findIndex((row) => row[device] === block) + 1;

/** What has become of a tile after `step` steps. @param {Run} run @param {number} device @param {number} block @param {number} step @returns {Kind} */
export function kindOf(run, device, block, step) {
  const left = step - stepOf(run, device, block);
  return !run.pairs[device][block] ? 'skipped' : left > 0 ? 'done' : left ? 'open' : 'now';
}

/** Pairs of a device, or of all, in some kinds of tile. @param {Run} run @param {number} step @param {Kind[]} kinds @param {number} [device] */
export const pairsIn = (run, step, kinds, device) => run.pairs.flatMap((row, p) =>
  row.filter((_, j) => (device ?? p) === p && kinds.includes(kindOf(run, p, j, step)))).reduce((sum, pairs) => sum + pairs, 0);

/** Bytes that a device has sent once it has absorbed `step` blocks: it sends each on but the last. @param {Run} run @param {number} step @param {number} device */
export const sentBy = ({ held, bytes }, step, device) => held.slice(1, step || 1).reduce((sum, _, t) => sum + bytes[held[t][device]], 0);

const MOST_ROWS = 8; // of a tile: longer blocks are drawn by a few of their queries

/**
 * The shape of a tile, row by row: the share of the block's keys that a query sees. Its keys ascend, so those are
 * the first ones. A tile that is skipped keeps its whole shape.
 * @param {Run} run
 * @param {number} device
 * @param {number} block
 */
export function shares({ causal, pairs, ids }, device, block) {
  const [queries, keys] = [ids[device], ids[block]];
  const rows = Math.min(queries.length, MOST_ROWS);
  return Array.from({ length: rows }, (_, row) => {
    const last = causal && pairs[device][block] ? queries[Math.floor(((row + 0.5) * queries.length) / rows)] : Infinity;
    return keys.filter((key) => key <= last).length / keys.length;
  });
}
