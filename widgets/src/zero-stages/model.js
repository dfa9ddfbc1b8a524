// What ZeRO leaves on each device and what a step sends, by the equations of `shardwise.memory` and
// `shardwise.communication`, for 2 bytes of weights, 2 of gradients and 12 of optimizer state.
import { PARTS, isSplit } from '../memory-budget/model.js';

/** @typedef {{ params: number, devices: number, step: number }} State `step` is the stage */
/** @typedef {import('../memory-budget/model.js').Part} Part */

export const BYTES = { params: 2, grads: 2, optimizer: 12 };
export const ELEMENT = 2; // bytes of what travels: 16-bit weights and gradients

/** Bytes of each part on one device at a stage. @param {State} state @param {number} [stage] */
export function kept({ params: psi, devices, step }, stage = step) {
  const [params, grads, optimizer] = PARTS.map((part) => (BYTES[part] * psi) / (isSplit(part, stage) ? devices : 1));
  return { params, grads, optimizer, total: params + grads + optimizer };
}

/** Whether a device holds no more than its slice of a part. @param {State} state @param {Part} part @param {number} [stage] */
export const isSlice = ({ devices, step }, part, stage = step) => devices > 1 && isSplit(part, stage);

/** How many times less than at stage 0. @param {State} state @param {number} [stage] */
export const saving = (state, stage) => kept(state, 0).total / kept(state, stage).total;

/** Bytes per parameter that every device holds, and those that all devices hold together. @param {number} stage */
export function shares(stage) {
  const split = PARTS.slice(3 - stage).reduce((sum, part) => sum + BYTES[part], 0);
  return [16 - split, split];
}

/**
 * A collective of one step: the phase beside which it runs (0 forward, 1 backward, 2 update), what it moves, and
 * how many elements each device sends, in units of Ψ(N−1)/N.
 * @typedef {{ phase: number, op: string, part: 'params' | 'grads', trips: number }} Collective
 */

/** @param {number} stage @returns {Collective[]} in the order of a step */
export function collectives(stage) {
  const gather = (/** @type {number} */ phase) => ({ phase, op: 'all-gather', part: /** @type {const} */ ('params'), trips: 1 });
  const reduce = { phase: 1, op: stage ? 'reduce-scatter' : 'all-reduce', part: /** @type {const} */ ('grads'), trips: stage ? 1 : 2 };
  return stage === 3 ? [gather(0), gather(1), reduce] : stage ? [reduce, gather(2)] : [reduce];
}

/** Bytes that each device sends in a step, or in some of its trips.
 * @param {State} state @param {number} [stage] @param {number} [trips] */
export const sentBytes = ({ params, devices, step }, stage = step, trips = stage < 3 ? 2 : 3) =>
  (ELEMENT * trips * params * (devices - 1)) / devices;

/** The devices that are drawn; `null` stands for those between. @param {number} devices */
export const drawn = (devices) => (devices > 8 ? [0, 1, 2, null, devices - 1] : [...Array(devices).keys()]);
