// The memory of one device: a stacked bar over the ghost of plain data parallelism, against one GPU.
import { ask } from '../shared/ask.js';
import { formatBytes, formatCount, plural, whole } from '../shared/format.js';
import { open, swatch, texture, textWidth, ticks, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { STAGES, amounts, fewestDevices, fits, isSplit, recipeOf } from './model.js';

/** @typedef {import('./model.js').State} State */

const GB = 1e9;
const BAR = 48;
/** Role in the palette and letter of each part. */
const ROLES = /** @type {const} */ ({ params: ['parameters', 'P'], grads: ['gradients', 'G'], optimizer: ['optimizer', 'O'], activations: ['activations', 'A'] });
export const NAMES = { params: 'parameters', grads: 'gradients', optimizer: 'optimizer state', activations: 'activations' };


/** @param {State} state */
const plain = (state) => amounts({ ...state, stage: 0 }).total;

/** Bytes that are missing on a device; below zero, to spare. @param {State} state */
const over = (state) => amounts(state).total - state.gpu * GB;

/** @param {State} state */
const fewest = (state) => {
  const count = fewestDevices(state);
  return count === null ? 'none' : whole(count);
};

/** The parts that are there: their name, how they are made up, and their bytes. @param {State} state */
function parts(state) {
  const bytes = amounts(state);
  return /** @type {(keyof typeof ROLES)[]} */ (Object.keys(ROLES)).filter((kind) => bytes[kind]).map((kind) => {
    const [role, letter] = ROLES[kind];
    const each = kind === 'activations' ? '' : `${recipeOf(state)[kind]} bytes each, `;
    const split = kind !== 'activations' && isSplit(kind, state.stage);
    const share = split ? `split over ${whole(state.devices)}` : 'a copy on every device';
    return { role, letter, name: NAMES[kind], bytes: bytes[kind], how: each + (each ? share : 'on every device') };
  });
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const [list, total, ghost, gpu] = [parts(state), amounts(state).total, plain(state), state.gpu * GB];
  // The stage-0 bar can be a thousand times longer than what is left of it: past four times, it is torn off.
  const end = 1.05 * Math.min(Math.max(ghost, gpu), 4 * Math.max(total, gpu));
  const x = (/** @type {number} */ bytes) => (Math.min(bytes, end) / end) * width;
  const top = narrow ? 112 : 92;
  const axis = top + BAR + 12;
  const rows = axis + 40;
  const stages = rows + list.length * 28 + 20;
  const line = `${state.gpu} GB GPU`;
  const before = x(gpu) + textWidth(line, 15) > width;
  let at = 0;
  return markup`${open(width, stages + 72, 'Memory of one device')}
<text x="0" y="24" class="sw-large sw-fill-text">${formatBytes(total)}<tspan class="sw-body" dx="6">on each device</tspan></text>
${write(narrow ? 0 : width, narrow ? 50 : 24, 'body sw-strong sw-fill-text', verdict(state), narrow ? false : 'end')}
${list.map(({ role, letter, name, how, bytes }) => {
    const [left, right] = [x(at), x((at += bytes))];
    return markup`<g ${ask(`${name}: ${how}, ${formatBytes(bytes)} of ${formatBytes(total)}`, name)}><rect x="${left}" y="${top}" width="${Math.max(right - left, 0.5)}" height="${BAR}" ${texture(id, role)} class="sw-memory-part"/>
${right - left >= 32 && swatch(role, letter, left + 6, top + BAR / 2 - 10)}</g>`;
  })}
<g ${ask(`What one GPU holds: ${line}; ${verdict(state)}`, 'gpu')}><path d="M${x(gpu)} ${top - 40}V${axis}" class="sw-memory-gpu sw-stroke-text"/>
${write(x(gpu) + (before ? -6 : 6), top - 30, 'small sw-strong sw-fill-text', line, before && 'end')}</g>
${ghostBar(ghost, x(ghost), ghost > end, top, width)}
<path d="M0 ${axis}H${width}" class="sw-line sw-stroke-rule"/>
${ticks(end, narrow ? 4 : 8).map((bytes) => markup`<path d="M${x(bytes)} ${axis}v4" class="sw-line sw-stroke-rule"/>
${x(bytes) < width - 32 && write(x(bytes), axis + 18, 'small sw-fill-muted', bytes ? formatBytes(bytes) : '0', bytes ? 'middle' : false)}`)}
${list.map(({ role, letter, name, how, bytes }, i) => {
    const y = rows + i * 28;
    return markup`${swatch(role, letter, 0, y)}${write(28, y + 15, 'body sw-fill-text', name)}${!narrow && write(180, y + 15, 'small sw-fill-muted', how)}${write(width, y + 15, 'body sw-fill-text', formatBytes(bytes), 'end')}`;
  })}
${write(0, stages + 8, 'small sw-fill-muted', 'Fewest devices that fit')}
${STAGES.map((stage) => {
    const [chosen, left, count] = [stage === state.stage, (stage * (width + 8)) / 4, fewest({ ...state, stage })];
    return markup`<g ${ask(`At stage ${stage}, the fewest devices on which each fits into ${state.gpu} GB: ${count}`, `stage${stage}`)}><rect x="${left + 0.75}" y="${stages + 20}" width="${(width - 24) / 4 - 1.5}" height="48" rx="4" class="sw-memory-stage sw-stroke-${chosen ? 'text' : 'rule'}"/>
${write(left + 8, stages + 39, 'small sw-fill-muted', `stage ${stage}`)}${write(left + 8, stages + 59, `${narrow ? 'small' : 'body'} ${chosen ? 'sw-strong ' : ''}sw-fill-text`, count)}</g>`;
  })}
</svg>`;
}

/** @param {State} state */
const verdict = (state) =>
  fits(state) ? `✓ fits, ${formatBytes(Math.max(0, -over(state)))} to spare` : `✕ ${formatBytes(over(state))} more than ${state.gpu} GB`;

/** @param {number} ghost bytes @param {number} right @param {boolean} torn @param {number} top @param {number} width */
function ghostBar(ghost, right, torn, top, width) {
  const text = `stage 0: ${formatBytes(ghost)}`;
  const third = (BAR + 8) / 3;
  const edge = torn ? `m0-${BAR + 8}-5 ${third} 6 ${third}-5 ${third}` : 'z';
  return markup`<g ${ask(`At ${text}, everything on every device`, 'ghost')}><path d="M${right} ${top - 4}H.75V${top + BAR + 4}H${right}${edge}" class="sw-memory-ghost sw-stroke-muted"/>
${write(right, top - 10, 'small sw-halo sw-fill-muted', (torn ? '→ ' : '') + text, right > width / 2 ? 'end' : false)}</g>`;
}

/** @param {State} state */
function say(state) {
  const count = fewest(state);
  const fit = fits(state) ? `which fits into a GPU of ${state.gpu} GB` : `${formatBytes(over(state))} more than a GPU of ${state.gpu} GB holds`;
  return `${formatCount(state.params)} parameters at ZeRO stage ${state.stage} on ${plural(state.devices, 'device')}: ${formatBytes(amounts(state).total)} on each, ${fit}. ` +
    `${count === 'none' ? `At stage ${state.stage} no number of devices is enough.` : `The fewest devices that fit at stage ${state.stage}: ${count}.`} (1 GB = 10⁹ bytes.)`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  check: recipeOf,
  show: ({ params, activations, recipes }) => ({
    params: { text: formatCount(params) },
    activations: { text: `${whole(activations)} GB` },
    recipe: {
      options: recipes.map((recipe) => ({
        value: recipe.name, text: `${recipe.params + recipe.grads + recipe.optimizer} = ${recipe.name}: ${recipe.description}`,
      })),
    },
  }),
  draw,
  say,
  table: (state) => ({
    caption: `Memory of each device (${plural(state.devices, 'device')}, stage ${state.stage})`,
    head: ['what', 'how', 'how much'],
    rows: [
      ...parts(state).map(({ name, how, bytes }) => [name, how, formatBytes(bytes)]),
      ['in all', verdict(state), formatBytes(amounts(state).total)],
      ...STAGES.map((stage) => [`stage ${stage}`, 'fewest devices that fit', fewest({ ...state, stage })]),
    ],
  }),
};
