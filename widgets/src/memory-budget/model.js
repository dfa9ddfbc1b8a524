// What training costs on each device, by the equations of `shardwise.memory`. Whether N devices are enough is
// decided without a division, so that no rounding decides it; sums above 2⁵³ bytes round in their last bits.

/** @typedef {{ name: string, params: number, grads: number, optimizer: number, description: string }} Recipe */
/** @typedef {'params' | 'grads' | 'optimizer'} Part */
/**
 * @typedef {object} State
 * @property {number} params number of parameters
 * @property {number} devices
 * @property {number} stage 0, 1, 2 or 3
 * @property {number} gpu GB of one GPU
 * @property {string} recipe
 * @property {number} activations GB
 * @property {Recipe[]} recipes
 */

/** @type {readonly Part[]} */
export const PARTS = ['params', 'grads', 'optimizer'];
export const GPUS = [24, 40, 80, 141, 192];
export const STAGES = [0, 1, 2, 3];
/** Names of `shardwise.memory.RECIPES`; what they stand for comes from there. */
export const RECIPES = ['2+2+12', '2+4+12', '2+6+12', '4+4+8', '2+0+8', '2+2+4'];
export const LARGEST_GPU = Math.max(...GPUS);
export const [MIN_PARAMS, MAX_PARAMS] = [1e8, 2e12];
export const MAX_DEVICES = 4096;
const GB = 1e9;

/** Sizes of published models that the preferred numbers below miss, in billions: GPT-2 and 3, Llama, PaLM, DeepSeek-V3. */
const PUBLISHED = [0.124, 0.774, 1.3, 2.7, 7, 13, 34, 65, 70, 175, 405, 540, 671];

/** Forty steps to the decade, equal but for rounding: the R40 series of preferred numbers, ISO 3. */
const PREFERRED = [
  100, 106, 112, 118, 125, 132, 140, 150, 160, 170, 180, 190, 200, 212, 224, 236, 250, 265, 280, 300,
  315, 335, 355, 375, 400, 425, 450, 475, 500, 530, 560, 600, 630, 670, 710, 750, 800, 850, 900, 950,
];

/** The stop of a size: equal ways on the slider are equal factors. @param {number} count */
const stopOf = (count) => Math.round(PREFERRED.length * Math.log10(count / MIN_PARAMS));

/** A size at each stop: a published one where one is nearest, otherwise the preferred number. */
export const PARAMS = Array.from({ length: stopOf(MAX_PARAMS) + 1 }, (_, stop) => {
  const published = PUBLISHED.map((billions) => Math.round(billions * 1e9)).find((count) => stopOf(count) === stop);
  const decade = Math.floor(stop / PREFERRED.length);
  return published ?? PREFERRED[stop % PREFERRED.length] * (MIN_PARAMS / 100) * 10 ** decade;
});

/** Every count to 16, then eight stops to the octave. */
export const DEVICES = [
  ...Array.from({ length: 16 }, (_, i) => i + 1),
  ...[16, 32, 64, 128, 256, 512, 1024, MAX_DEVICES / 2].flatMap((octave) =>
    Array.from({ length: 8 }, (_, i) => octave + ((i + 1) * octave) / 8),
  ),
];

export const ACTIVATIONS = Array.from({ length: LARGEST_GPU + 1 }, (_, i) => i);

/** Whether a stage splits a part: 1 the optimizer state, 2 gradients too, 3 parameters too.
 * @param {Part} part @param {number} stage */
export const isSplit = (part, stage) => stage >= 3 - PARTS.indexOf(part);

/** @param {State} state @returns {Recipe} */
export function recipeOf({ recipes, recipe }) {
  const found = recipes.find(({ name }) => name === recipe);
  if (!found) throw new Error(`there is no recipe ${recipe} in recipes`);
  return found;
}

/**
 * Bytes of each part on one device.
 * @param {State} state
 */
export function breakdown(state) {
  const recipe = recipeOf(state);
  const [params, grads, optimizer] = PARTS.map(
    (part) => (recipe[part] * state.params) / (isSplit(part, state.stage) ? state.devices : 1),
  );
  const { fixed, split } = shares(state);
  return { params, grads, optimizer, total: (fixed * state.devices + split) / state.devices };
}

/** Bytes that every device holds, and bytes that all devices hold together. @param {State} state */
function shares(state) {
  const recipe = recipeOf(state);
  let [fixed, split] = [0, 0];
  for (const part of PARTS) {
    const bytes = recipe[part] * state.params;
    if (isSplit(part, state.stage)) split += bytes;
    else fixed += bytes;
  }
  return { fixed, split };
}

/** @param {State} state */
export const activationBytes = ({ activations }) => Math.round(activations * GB);

/** Bytes left over for the part that is split. @param {State} state */
const room = (state) => state.gpu * GB - activationBytes(state) - shares(state).fixed;

/** @param {State} state */
export const fits = (state) => room(state) * state.devices >= shares(state).split;

/**
 * The smallest number of devices that fit, or null where none does.
 * @param {State} state
 */
export function fewestDevices(state) {
  const { split } = shares(state);
  const free = room(state);
  if (free < 0 || (free === 0 && split > 0)) return null;
  let count = Math.max(1, Math.ceil(split / free) || 1);
  while (count > 1 && (count - 1) * free >= split) count -= 1; // the division may have rounded up
  while (count * free < split) count += 1; // or down
  return count;
}

/** Bytes of everything on one device, activations too. @param {State} state */
export function amounts(state) {
  const bytes = breakdown(state);
  const activations = activationBytes(state);
  return { ...bytes, activations, total: bytes.total + activations };
}
