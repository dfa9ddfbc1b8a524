// The bubble of a pipeline of P equal stages and M micro-batches, by the equations of `shardwise.pipeline`.

/** @typedef {{ stages: number, microbatches: number, target: number }} State */

export const MAX_STAGES = 64;
export const MAX_MICROBATCHES = 256;
export const TARGETS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5];

/** Share of the total time (P−1)/(M+P−1). @param {number} stages @param {number} microbatches */
export const ofTotal = (stages, microbatches) => (stages - 1) / (microbatches + stages - 1);

/** Share of the ideal time (P−1)/M, which may exceed 1. @param {number} stages @param {number} microbatches */
export const ofIdeal = (stages, microbatches) => (stages - 1) / microbatches;

/** Fewest micro-batches whose bubble is at most so much of the total. Targets are whole per cents, and as such
 * the quotient is one of integers: none but a whole one rounds to a whole number.
 * @param {number} stages @param {number} target */
export function fewest(stages, target) {
  const cents = Math.round(100 * target);
  return Math.max(1, Math.ceil(((stages - 1) * (100 - cents)) / cents));
}

/** Numbers in their order, each once. @param {number[]} values */
export const inOrder = (values) => [...new Set(values)].sort((a, b) => a - b);
