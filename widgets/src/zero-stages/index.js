// The stages of ZeRO: who holds what, what a stage leaves on a device, and the collectives of one step.
import { ask } from '../shared/ask.js';
import { digits, formatBytes, formatCount, plural, whole } from '../shared/format.js';
import { open, swatch, texture, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { BYTES, NAMES, PARTS, STAGES, collectives, drawn, isSlice, kept, saving, sentBytes, shares } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {import('./model.js').Part} Part */
/** @typedef {{ width: number, narrow: boolean, left: number, id: string, from?: number }} Place */

const ROLES = { params: 'parameters', grads: 'gradients', optimizer: 'optimizer' };
/** Phases of a step: name, role, and where each begins and how long it is drawn. @type {[string, Part, number, number][]} */
const PHASES = [['forward', 'params', 0, 2], ['backward', 'grads', 2, 3], ['update', 'optimizer', 5, 2]];
const ROW = 24;
const MUTED = 'small sw-fill-muted';
const NUMBER = 'small sw-number sw-fill-text';

const times = (/** @type {number} */ factor) => `${digits(factor)}×`;
const badge = (/** @type {Part} */ part, /** @type {number} */ x, /** @type {number} */ y) => swatch(ROLES[part], part[0].toUpperCase(), x, y);

/** 4Ψ + 12Ψ/N @param {number} stage */
const formula = (stage) => shares(stage).map((bytes, split) => bytes && `${bytes}Ψ${split ? '/N' : ''}`).filter(Boolean).join(' + ');

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from }) {
  const narrow = width < 560;
  const place = { width, narrow, left: narrow ? 40 : 80, id, from };
  const rows = drawn(state.devices);
  const top = narrow ? 96 : 72;
  const legend = top + rows.length * ROW + 16;
  return markup`${open(width, legend + 356, 'Training state by device')}
${write(0, 24, 'large sw-fill-text', markup`${formatBytes(kept(state).total)}<tspan class="sw-body" dx="6">on each${!narrow && ' device'}</tspan>`)}
${write(narrow ? 0 : width, narrow ? 48 : 24, 'body sw-strong sw-fill-text', verdict(state, narrow), !narrow && 'end')}
${rows.map((device, i) => deviceRow(state, device, top + i * ROW, place))}
${PARTS.map((part, i) => markup`${badge(part, boxes(place)[i].x, top - 28)}${legendRow(state, part, legend + i * 28, place)}`)}
${write(0, legend + 120, MUTED, 'What a stage leaves on each')}
${STAGES.map((stage) => stageCell(state, stage, legend + 128, place))}
${timeline(state, legend + 216, place)}
</svg>`;
}

/** @param {State} state @param {boolean} narrow */
function verdict({ devices, step, ...state }, narrow) {
  if (devices === 1) return 'nothing to split';
  return step ? `${times(saving({ devices, step, ...state }))} less${narrow ? '' : ' than at stage 0'}` : `the same ${whole(devices)} times over`;
}

/** Where a whole copy of each part is drawn. @param {Place} place */
function boxes({ width, narrow, left }) {
  const unit = (width - left - (narrow ? 68 : 84)) / 16;
  return PARTS.map((part, i) => ({ part, x: left + i * (2 * unit + 4), wide: BYTES[part] * unit }));
}

/** @param {State} state @param {number | null} device @param {number} y @param {Place} place */
function deviceRow(state, device, y, place) {
  const { devices: n, step } = state;
  const { width, narrow, left, id, from } = place;
  if (device === null) return write(left, y + 15, MUTED, `⋯ ${whole(n - 4)} more`);
  const bytes = kept(state);
  return markup`${write(0, y + 15, MUTED, narrow ? device : `device ${device}`)}
${boxes(place).map(({ part, x, wide }) => {
    const split = isSlice(state, part);
    const slice = split ? Math.max(wide / n, 1.5) : wide; // thinner, and nobody would see it
    const at = split ? Math.min((wide * device) / n, wide - slice) : 0;
    return markup`<g ${ask(`Device ${device}, ${NAMES[part]}: ${split ? `slice ${device + 1} of ${whole(n)}` : 'a whole copy'}, ${BYTES[part]}Ψ${split ? '/N' : ''} = ${formatBytes(bytes[part])}`, part + device)}><rect x="${x}" y="${y}" width="${wide}" height="20" class="sw-zero-box sw-stroke-rule"/>
<rect x="${x + at}" y="${y}" width="${slice}" height="20" ${texture(id, ROLES[part])}/></g>
${split && from !== undefined && !isSlice(state, part, from) && markup`<rect x="${x}" y="${y}" width="${wide}" height="20" class="sw-zero-shrink sw-fill-${ROLES[part]}" style="--k:calc(1/${n});transform-origin:${x + (wide * device) / (n - 1)}px 0"/>`}`;
  })}
<g ${ask(`Device ${device}: ${formula(step)} = ${formatBytes(bytes.total)}`, `sum${device}`)}>${write(width, y + 15, NUMBER, formatBytes(bytes.total), 'end')}</g>`;
}

/** @param {State} state @param {Part} part @param {number} y @param {Place} place */
function legendRow(state, part, y, { width, narrow }) {
  const bytes = formatBytes(kept(state)[part]);
  const share = `${BYTES[part]} bytes each, ${isSlice(state, part) ? `1/${whole(state.devices)}` : 'a copy'} per device`;
  return markup`${badge(part, 0, y)}<g ${ask(`${NAMES[part]}: ${share}: ${bytes}`, part)}>${write(28, y + 15, 'body sw-fill-text', NAMES[part])}
${!narrow && write(180, y + 15, MUTED, share)}${write(width, y + 15, 'body sw-number sw-fill-text', bytes, 'end')}</g>`;
}

/** @param {State} state @param {number} stage @param {number} y @param {Place} place */
function stageCell(state, stage, y, { width, narrow }) {
  const cell = (width + 4) / STAGES.length;
  const x = stage * cell + (narrow ? 4 : 8);
  const [bytes, less] = [formatBytes(kept(state, stage).total), times(saving(state, stage))];
  return markup`<g ${ask(`Stage ${stage}: ${formula(stage)} = ${bytes} on each device, ${less} less than at stage 0; each sends ${formatBytes(sentBytes(state, stage))} a step`, `stage${stage}`)}>
<rect x="${stage * cell + 0.75}" y="${y}" width="${cell - 5.5}" height="68" rx="4" class="sw-zero-box sw-stroke-${stage === state.step ? 'text' : 'rule'}"/>
${write(x, y + 19, MUTED, `stage ${stage}`)}${write(x, y + 39, `${narrow ? 'tiny' : 'body'} sw-number sw-fill-text`, bytes)}
${write(x, y + 58, `${narrow ? 'tiny' : 'small'} sw-number sw-fill-muted`, narrow ? less : formula(stage))}${!narrow && write(x + cell - 20, y + 19, MUTED, less, 'end')}</g>`;
}

/** The order of one step, not its duration: what runs, and what travels beside or after it.
 * @param {State} state @param {number} y @param {Place} place */
function timeline(state, y, { width, narrow, left: margin }) {
  const left = narrow ? 24 : margin;
  const unit = (width - left) / 7;
  /** @type {[phase: number, top: number, role: string, text: string, ...lines: string[]][]} */
  const boxes = PHASES.map(([name, part], i) => [i, 20, ROLES[part], `: each device ${i < 2 ? 'on its own part of the batch' : `updates ${state.step ? 'its slice, Ψ/N' : 'all Ψ'} parameters`}`, name]);
  for (const { phase, op, part, trips } of collectives(state.step)) {
    const bytes = formatBytes(sentBytes(state, state.step, trips));
    const text = ` of ${NAMES[part]}${state.step > 2 ? ', layer by layer' : ''}: each device sends ${trips > 1 ? trips : ''}Ψ(N−1)/N · 2 bytes = ${bytes}`;
    boxes.push([phase, part === 'params' ? 52 : 96, 'communication', text, op, `${narrow ? '' : '→ '}${bytes}`]);
  }
  return markup`${write(0, y + 12, MUTED, 'One step')}${write(width, y + 12, NUMBER, `each sends ${formatBytes(sentBytes(state))}`, 'end')}
${badge('params', 0, y + 62)}${badge('grads', 0, y + 106)}
${boxes.map(([phase, top, role, text, ...lines]) => {
    const [, , from, long] = PHASES[phase];
    const x = left + from * unit;
    return markup`<g ${ask(lines[0] + text, lines[0] + phase)}><rect x="${x}" y="${y + top}" width="${long * unit - 4}" height="${16 + 12 * lines.length}" rx="4" class="sw-zero-phase sw-fill-${role}"/>
${lines.map((line, i) => write(x + (narrow ? 4 : 8), y + top + 18 + i * 16, `${narrow ? 'tiny' : 'small'} sw-number sw-on-${role}`, line))}</g>`;
  })}`;
}

const SAYS = [
  'every device holds a copy of everything, and all-reduces the gradients',
  'each device keeps and updates its slice, and an all-gather gives everyone the new parameters',
  'each device keeps only the gradients of its slice',
  'parameters are slices too, gathered for each layer before its forward and its backward pass; that layer needs room besides',
];

/** @param {State} state */
const say = (state) =>
  `Stage ${state.step}: ${SAYS[state.step]}. ${formatCount(state.params)} parameters on ${plural(state.devices, 'device')}: ` +
  `${formula(state.step)} = ${formatBytes(kept(state).total)} on each, which sends ${formatBytes(sentBytes(state))} in a step.`;

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  show: ({ params }) => ({ params: { text: formatCount(params) } }),
  draw,
  say,
  phase: ({ step }) => String(step),
  table: (state) => ({
    caption: `${formatCount(state.params)} parameters on ${plural(state.devices, 'device')}: what each holds, and sends in a step`,
    head: ['stage', ...PARTS.map((part) => NAMES[part]), 'sum', 'less', 'sends'],
    rows: STAGES.map((stage) => {
      const bytes = kept(state, stage);
      return [stage, ...[...PARTS.map((part) => bytes[part]), bytes.total].map(formatBytes), times(saving(state, stage)), formatBytes(sentBytes(state, stage))];
    }),
  }),
};
