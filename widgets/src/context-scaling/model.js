// How long a sequence P devices in a ring can attend to, and how long each computes and sends for one layer, by the
// functions of `shardwise_widgets.context_scaling`, which have the equations and their sources.

/**
 * @typedef {object} State
 * @property {number} devices P
 * @property {number} memory GB of each device for its block of the sequence
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_size
 * @property {number} layers that keep their tensors for the backward pass; 0 counts a forward pass alone
 * @property {[name: string, ...numbers: number[]]} hardware name of a device, its FLOP/s, devices in a node, and seconds
 *   a hop and bytes/s of the link inside a node and of the one out of it
 */

export const MAX_DEVICES = 64;
export const MAX_MEMORY = 64;
export const MAX_HEADS = 128;
export const MAX_LAYERS = 128;
export const HEAD_SIZES = [64, 128, 256];
export const DEVICES = [...Array.from({ length: 16 }, (_, i) => i + 1), 20, 24, 28, 32, 40, 48, 56, 64];
export const MEMORIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 4, 8, 16, 32, 40, 64];
export const HEADS = [8, 16, 24, 32, 40, 48, 64, 96, 128];
export const LAYERS = [0, 1, 2, 4, 8, 16, 32, 64, 96, 128];

/** @param {number} heads */
export const divisors = (heads) => Array.from({ length: heads }, (_, i) => i + 1).filter((k) => heads % k === 0);

/** Bytes per token of a device's block, in the order of the bar. @param {State} state @returns {Record<string, number>} */
export function parts({ heads, kv_heads: kv, head_size: d, layers }) {
  const [q, k] = [2 * heads * d, 4 * kv * d];
  if (!layers) return { queries: q, outputs: q, keys: k, flight: k };
  return { queries: layers * q, outputs: layers * (q + 4 * heads), keys: layers * k, gradients: 3 * q, flight: 6 * k };
}

/** Bytes of one token on its device. @param {State} state */
export const tokenBytes = (state) => Object.values(parts(state)).reduce((sum, bytes) => sum + bytes);

/** Tokens on a device. @param {State} state */
export const block = (state) => Math.floor(Math.round(state.memory * 1e9) / tokenBytes(state));

/** Seconds a hop and bytes/s of the slowest link between neighbours. @param {State} state */
export const link = ({ devices, hardware: [, , node, ...links] }) => links.slice(devices > node ? 2 : 0);

/** What one device does for a layer, in seconds: computes, sends, and waits for what its work does not hide.
 * @param {State} state @returns {number[]} */
export function seconds(state) {
  const { devices: p, heads, kv_heads: kv, head_size: d, layers, hardware } = state;
  const c = block(state);
  const [latency, rate] = link(state);
  const work = (4 * heads * d * c * c) / hardware[1];
  const keys = (4 * kv * d * c) / rate;
  const compute = (layers ? 3.5 : 1) * p * work;
  if (p === 1 || c === 0) return [compute, 0, 0];
  const send = latency + keys;
  const wait = Math.max(0, send - work);
  if (!layers) return [compute, (p - 1) * send, (p - 1) * wait];
  const [back, home] = [2 * latency + 3 * keys, latency + 2 * keys];
  return [compute, (p - 1) * (send + back) + home, (p - 1) * (wait + Math.max(0, back - 2 * work)) + home];
}

/** The fewest tokens on a device whose work hides a step's transfer: the root of 4Hdc²/F = A + 4Kdc/B (in training
 * 1½ times the bytes). @param {State} state */
export function hidingBlock(state) {
  const { heads, kv_heads: kv, head_size: d, layers, hardware: [, flops] } = state;
  const [latency, rate] = link(state);
  const bytes = ((layers ? 1.5 : 1) * flops * kv) / (rate * heads);
  return Math.ceil((bytes + Math.sqrt(bytes * bytes + (latency * flops) / (heads * d))) / 2);
}
