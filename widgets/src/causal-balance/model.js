// Which tokens each device of an attention ring holds and what a causal mask leaves it to compute, by the
// equations of `shardwise.ring_attention`. All counts are whole numbers far below 2⁵³.

/** @typedef {[first: number, count: number, stride: number]} Run positions in equal strides */
/** @typedef {{ devices: number, block: number, layout: string }} State `block` counts tokens per device */

export const LAYOUTS = ['contiguous', 'striped', 'zigzag'];

/** Piece i of a sequence, cut as `torch.tensor_split` does: the first pieces are longer by one.
 * @param {number} length @param {number} pieces @param {number} i @returns {Run} */
function piece(length, pieces, i) {
  const start = (/** @type {number} */ at) => at * Math.floor(length / pieces) + Math.min(at, length % pieces);
  return [start(i), start(i + 1) - start(i), 1];
}

/**
 * The positions of one device's tokens, as one or two runs.
 * @param {string} layout
 * @param {number} devices
 * @param {number} length tokens of the whole sequence
 * @param {number} device
 * @returns {Run[]}
 */
export function runsOf(layout, devices, length, device) {
  if (layout === 'striped') return [[device, Math.ceil((length - device) / devices), devices]];
  if (layout === 'contiguous') return [piece(length, devices, device)];
  return [device, 2 * devices - 1 - device].map((i) => piece(length, 2 * devices, i)).filter(([, count]) => count);
}

/** @param {Run} run */
export const lastOf = ([first, count, stride]) => first + (count - 1) * stride;

/** A device's positions in words: `6 to 11 and 84 to 89`, `3, 11, … 123`. @param {Run[]} runs */
export const spell = (runs) =>
  runs.map((run) => {
    const [first, count, stride] = run;
    if (count === 1) return first;
    return count === 2 ? `${first}, ${lastOf(run)}` : stride === 1 ? `${first} to ${lastOf(run)}` : `${first}, ${first + stride}, … ${lastOf(run)}`;
  }).join(' and ');

/** Pairs of one run: the query at position i sees i + 1 keys. @param {Run} run */
const pairs = (run) => (run[1] * (run[0] + lastOf(run) + 2)) / 2;

/**
 * The causal (query, key) pairs of each device under a layout, and how uneven they are.
 * @param {State} state
 * @param {string} [layout]
 */
export function balance({ devices, block, layout: chosen }, layout = chosen) {
  const runs = Array.from({ length: devices }, (_, device) => runsOf(layout, devices, devices * block, device));
  const work = runs.map((own) => own.reduce((sum, run) => sum + pairs(run), 0));
  const total = work.reduce((sum, count) => sum + count, 0);
  const [most, least] = [Math.max(...work), Math.min(...work)];
  return { runs, work, total, most, least, mean: total / devices, slowdown: (most * devices) / total, imbalance: most / least };
}
