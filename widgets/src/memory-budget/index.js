// The memory of one device: a stacked bar over the ghost of plain data parallelism, against one GPU.
import { formatBytes, formatCount, plural } from '../shared/format.js';
import { swatch, texture, textures, textWidth, ticks } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import {
  ACTIVATIONS, DEVICES, GPUS, LARGEST_GPU, MAX_DEVICES, MAX_PARAMS, MIN_PARAMS, PARAMS, PARTS, RECIPES, STAGES,
  amounts, checkRecipes, fewestDevices, fits, isSplit, recipeOf,
} from './model.js';

/** @typedef {import('./model.js').State} State */

const GB = 1e9;
const ROLES = /** @type {const} */ ({
  params: ['parameters', 'P'],
  grads: ['gradients', 'G'],
  optimizer: ['optimizer', 'O'],
  activations: ['activations', 'A'],
});
export const NAMES = { params: 'parameters', grads: 'gradients', optimizer: 'optimizer state', activations: 'activations' };
const NARROW = 560;

/** @param {State} state */
const plain = (state) => amounts({ ...state, stage: 0 }).total;

/** The stage-0 bar can be a thousand times longer than what is left of it: past four times, it is torn off.
 * @param {State} state */
function axisEnd(state) {
  const gpu = state.gpu * GB;
  return 1.05 * Math.min(Math.max(plain(state), gpu), 4 * Math.max(amounts(state).total, gpu));
}

/** @param {State} state */
function verdict(state) {
  const over = amounts(state).total - state.gpu * GB;
  if (fits(state)) return `✓ fits, ${formatBytes(Math.max(0, -over))} to spare`;
  return `✕ ${formatBytes(over)} more than ${state.gpu} GB`;
}

/** @param {number | null} count */
const fewestText = (count) => (count === null ? 'none' : count.toLocaleString('en-US'));

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < NARROW;
  const bytes = amounts(state);
  const end = axisEnd(state);
  const x = (/** @type {number} */ b) => (Math.min(b, end) / end) * width;
  const kinds = /** @type {(keyof typeof ROLES)[]} */ ([...PARTS, 'activations']).filter((kind) => bytes[kind] > 0);
  const top = narrow ? 112 : 88;
  const [barTop, barHeight] = [top, 48];
  const ghost = plain(state);
  const gpu = state.gpu * GB;

  let at = 0;
  const bars = kinds.map((kind) => {
    const [role, letter] = ROLES[kind];
    const [left, right] = [x(at), x((at += bytes[kind]))];
    const wide = right - left;
    return markup`<rect x="${left}" y="${barTop}" width="${Math.max(wide, 0.5)}" height="${barHeight}" fill="${texture(id, role)}" class="sw-memory-part"/>
${wide >= 32 && markup`<g>${swatch(role, letter, left + 6, barTop + barHeight / 2 - 10)}</g>`}`;
  });
  const rowsTop = barTop + barHeight + 52;
  const stagesTop = rowsTop + kinds.length * 28 + 16;
  const height = stagesTop + 74;

  return markup`<svg class="sw-svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="Memory of one device">
${textures(id, kinds.map((kind) => ROLES[kind][0]))}
<text x="0" y="24" class="sw-large sw-fill-text">${formatBytes(bytes.total)}<tspan class="sw-body" dx="6">on each device</tspan></text>
<text x="${narrow ? 0 : width}" y="${narrow ? 50 : 24}" text-anchor="${narrow ? 'start' : 'end'}" class="sw-body sw-strong sw-fill-text">${verdict(state)}</text>
${ghostBar({ x, end, ghost, width, barTop, barHeight })}
${bars}
${gpuLine({ at: x(gpu), gpu: state.gpu, width, barTop, barHeight })}
${axis(end, x, barTop + barHeight + 12, width)}
${kinds.map((kind, i) => row(state, kind, bytes[kind], rowsTop + i * 28, width))}
${stages(state, stagesTop, width)}
</svg>`;
}

/** @param {{ x: (bytes: number) => number, end: number, ghost: number, width: number, barTop: number, barHeight: number }} place */
function ghostBar({ x, end, ghost, width, barTop, barHeight }) {
  const torn = ghost > end;
  const right = x(ghost);
  const [top, bottom] = [barTop - 4, barTop + barHeight + 4];
  const edge = torn
    ? `M${width} ${top}H.75V${bottom}H${width}m-6-${barHeight + 8}-5 ${(barHeight + 8) / 3} 6 ${(barHeight + 8) / 3}-5 ${(barHeight + 8) / 3}`
    : `M.75 ${top}H${Math.max(1.5, right - 0.75)}V${bottom}H.75z`;
  const text = `${torn ? '→ ' : ''}stage 0: ${formatBytes(ghost)}`;
  const anchor = torn || right > width / 2 ? 'end' : 'start';
  return markup`<path d="${edge}" class="sw-memory-ghost sw-stroke-muted"/>
<text x="${torn ? width : right}" y="${top - 6}" text-anchor="${anchor}" class="sw-small sw-fill-muted">${text}</text>`;
}

/** @param {{ at: number, gpu: number, width: number, barTop: number, barHeight: number }} place */
function gpuLine({ at, gpu, width, barTop, barHeight }) {
  const text = `${gpu} GB GPU`;
  const anchor = at + textWidth(text, 15) > width ? 'end' : 'start';
  return markup`<path d="M${at} ${barTop - 40}V${barTop + barHeight + 12}" class="sw-memory-gpu sw-stroke-text"/>
<text x="${at + (anchor === 'end' ? -6 : 6)}" y="${barTop - 30}" text-anchor="${anchor}" class="sw-small sw-strong sw-fill-text">${text}</text>`;
}

/** @param {number} end @param {(bytes: number) => number} x @param {number} y @param {number} width */
const axis = (end, x, y, width) => markup`<path d="M0 ${y}H${width}" class="sw-line sw-stroke-rule"/>
${ticks(end, width < NARROW ? 4 : 8).map(
  (bytes) => markup`<path d="M${x(bytes)} ${y}v4" class="sw-line sw-stroke-rule"/>
${x(bytes) < width - 32 && markup`<text x="${x(bytes)}" y="${y + 18}" text-anchor="${bytes ? 'middle' : 'start'}" class="sw-small sw-fill-muted">${bytes ? formatBytes(bytes) : '0'}</text>`}`,
)}`;

/** @param {State} state @param {keyof typeof ROLES} kind @param {number} bytes @param {number} y @param {number} width */
function row(state, kind, bytes, y, width) {
  const [role, letter] = ROLES[kind];
  const share = kind === 'activations' ? 'on every device' : isSplit(kind, state.stage) ? `split over ${state.devices.toLocaleString('en-US')}` : 'a copy on every device';
  return markup`<g>${swatch(role, letter, 0, y)}<text x="28" y="${y + 15}" class="sw-body sw-fill-text">${NAMES[kind]}</text>
${width >= NARROW && markup`<text x="180" y="${y + 15}" class="sw-small sw-fill-muted">${kind !== 'activations' && `${recipeOf(state)[kind]} bytes each, `}${share}</text>`}
<text x="${width}" y="${y + 15}" text-anchor="end" class="sw-body sw-number sw-fill-text">${formatBytes(bytes)}</text></g>`;
}

/** The fewest devices that fit at every stage, with the chosen one framed. @param {State} state @param {number} y @param {number} width */
function stages(state, y, width) {
  const cell = width / STAGES.length;
  return markup`<text x="0" y="${y + 12}" class="sw-small sw-fill-muted">Fewest devices that fit</text>
${STAGES.map((stage, i) => {
    const chosen = stage === state.stage;
    return markup`<rect x="${i * cell + 1}" y="${y + 22}" width="${cell - 2 - (i < 3 ? 6 : 0)}" height="48" rx="4" class="sw-memory-stage ${chosen ? 'sw-stroke-text' : 'sw-stroke-rule'}"/>
<text x="${i * cell + 8}" y="${y + 41}" class="sw-small sw-fill-muted">stage ${stage}</text>
<text x="${i * cell + 8}" y="${y + 61}" class="${width < NARROW ? 'sw-small' : 'sw-body'} sw-number ${chosen && 'sw-strong'} sw-fill-text">${fewestText(fewestDevices({ ...state, stage }))}</text>`;
  })}`;
}

/** @param {State} state */
function say(state) {
  const fewest = fewestDevices(state);
  const total = amounts(state).total;
  const over = total - state.gpu * GB;
  const count = fewest === null
    ? `At stage ${state.stage} no number of devices is enough.`
    : `The fewest devices that fit at stage ${state.stage}: ${fewest.toLocaleString('en-US')}.`;
  const fit = fits(state) ? `which fits into a GPU of ${state.gpu} GB` : `${formatBytes(over)} more than a GPU of ${state.gpu} GB holds`;
  return `${formatCount(state.params)} parameters at ZeRO stage ${state.stage} on ${plural(state.devices, 'device')}: ${formatBytes(total)} on each, ${fit}. ${count} (1 GB = 10⁹ bytes.)`;
}

/** @param {State} state */
function table(state) {
  const bytes = amounts(state);
  const recipe = recipeOf(state);
  return {
    caption: `Bytes on each of ${plural(state.devices, 'device')} at stage ${state.stage}`,
    head: ['part', 'bytes per parameter', 'split over', 'bytes on a device'],
    rows: [
      ...PARTS.map((part) => [NAMES[part], recipe[part], isSplit(part, state.stage) ? state.devices : 1, formatBytes(bytes[part])]),
      ['activations', '', 1, formatBytes(bytes.activations)],
      ['sum', '', '', formatBytes(bytes.total)],
      ...STAGES.map((stage) => [`fewest devices at stage ${stage}`, '', '', fewestText(fewestDevices({ ...state, stage }))]),
    ],
  };
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  name: 'MemoryBudget',
  className: 'sw-memory',
  title: 'Memory budget',
  addressKey: 'memory',
  fields: {
    params: { kind: 'whole', least: MIN_PARAMS, most: MAX_PARAMS },
    devices: { kind: 'whole', least: 1, most: MAX_DEVICES },
    stage: { kind: 'one', of: STAGES },
    gpu: { kind: 'one', of: GPUS },
    recipe: { kind: 'one', of: RECIPES },
    activations: { kind: 'number', least: 0, most: LARGEST_GPU },
  },
  data: ['recipes'],
  check: ({ recipes, recipe }) => checkRecipes(recipes, recipe),
  controls: (state) => [
    { kind: 'range', name: 'params', label: 'Parameters', stops: PARAMS, value: state.params, text: formatCount(state.params) },
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES, value: state.devices, text: state.devices.toLocaleString('en-US') },
    { kind: 'choice', name: 'stage', label: 'ZeRO stage', value: state.stage, options: STAGES.map((stage) => ({ value: stage, text: String(stage) })) },
    { kind: 'select', name: 'gpu', label: 'GPU memory', value: state.gpu, options: GPUS.map((gb) => ({ value: gb, text: `${gb} GB` })) },
    {
      kind: 'select', name: 'recipe', wide: true, label: 'Bytes per parameter', value: state.recipe,
      options: state.recipes.map(({ name, params, grads, optimizer, description }) => ({ value: name, text: `${params + grads + optimizer} = ${name}: ${description}` })),
    },
    { kind: 'range', name: 'activations', label: 'Activations', stops: ACTIVATIONS, value: state.activations, text: `${state.activations.toLocaleString('en-US')} GB` },
  ],
  draw,
  say,
  table,
};
