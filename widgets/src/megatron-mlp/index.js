// A recorded MLP on N devices, a lane for each: through f, A, GeLU, B and g, and back. Data flows to the right or,
// where there is no room, down.
import { ask } from '../shared/ask.js';
import { formatBytes } from '../shared/format.js';
import { swatch, texture, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { BACKWARD, LAST, checkRun, shownAt, wholeOf } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {import('./model.js').Tensor} Tensor */

const [BAR, NODE, GELU] = [32, 20, 5];
const [SMALL, STRONG] = ['small sw-fill-text', 'body sw-strong sw-fill-text'];
const LEGEND = ['parameters', 'activations', 'gradients'];
/** What stands after each place: forward and backward, to the right and down. */
const SIGNS = ['→→×=→ ×=→→', '←←←←← ←←←←', '↓↓×=↓ ×=↓↓', '↑↑↑↑↑ ↑↑↑↑'];

const isBack = (/** @type {State} */ { step }) => +(step >= BACKWARD);
const isSum = (/** @type {number} */ step) => step % BACKWARD === 5;
const shapeOf = (/** @type {number[]} */ part) => part.slice(2).join('×');

/** Where everything stands: what is shown, its size, and its middle and end along the lanes; `lane` is across.
 * @param {State} state @param {number} width */
function plan({ run, devices, step }, width) {
  const shown = run.places.map((place) => shownAt(place, step));
  const wholes = shown.map((one) => (one ? wholeOf(one) : [0, 0]));
  const label = Math.max(...shown.map((one) => (one ? shapeOf(one.parts[0]).length : 0)));
  const flat = width >= 560 && label < 6; // longer ones would meet
  const [left, top] = flat ? [12, 76] : [Math.max(68, label * 7.5), 72];
  const [longest, pitch] = [Math.max(...wholes.flat()), (width - left) / devices];
  const length = wholes.reduce((sum, [, columns]) => sum + columns, 0);
  const scale = Math.min(96 / longest, flat ? (width - 300) / length : (pitch - 8) / longest);
  const gap = flat ? (width - 92 - length * scale) / 10 : 20;
  const across = flat ? Math.max(...wholes.map(([rows]) => rows)) * scale + 24 : pitch;
  let at = (flat ? left : top) - gap;
  const stops = shown.map((one, i) => {
    const [tall, wide] = wholes[i].map((n) => Math.max(4, n * scale));
    const size = one ? (flat ? wide : Math.max(32, tall)) : i === GELU ? 4 : BAR;
    at += gap + size;
    return { one, tall, wide, middle: at - size / 2, end: at + gap / 2 };
  });
  return {
    flat, stops, across,
    lane: (/** @type {number} */ i) => (flat ? top : left) + (i < 0 ? devices / 2 : i + 0.5) * across,
    bottom: flat ? top + devices * across : at,
    xy: (/** @type {number} */ a, /** @type {number} */ b) => (flat ? [a, b] : [b, a]),
  };
}

/** @typedef {ReturnType<typeof plan>} Plan */

/** @param {number[]} box left, top, width, height @param {string} look @param {unknown} [rest] */
const rect = ([x, y, width, height], look, rest) =>
  markup`<rect x="${x}" y="${y}" width="${width}" height="${height}" stroke-width="1.5" class="sw-${look}" ${rest}/>`;
/** Where a motion comes from. @param {number[]} way */
const from = (way) => markup`style="--mlp-way:${way.join('px ')}px"`;

/** A tensor on a device, within the outline of the whole; device -1 is all of them.
 * @param {State} state @param {Plan} place @param {string} id @param {number} index @param {Tensor} one @param {number} device */
function drawTensor({ run, step }, { stops, lane, xy }, id, index, one, device) {
  const { tall, wide, middle } = stops[index];
  const i = Math.max(0, device);
  const [[row, column, rows, columns], [allRows, allColumns], [x, y]] = [one.parts[i], wholeOf(one), xy(middle, lane(device))];
  const [left, top, right, down] = [x - wide / 2, y - tall / 2, wide / allColumns, tall / allRows];
  const done = step >= one.step;
  const what = `${device < 0 ? 'Every device' : `Device ${i}`}: ${one.name} = ${one.formula}, rows ${row} to ${row + rows - 1} and columns ${column} to ` +
    `${column + columns - 1} of ${allRows}×${allColumns}, ${formatBytes(rows * columns * run.itemsize)}; ${done ? `first element ${one.first[i]}` : `made in step ${one.step}`}.`;
  return markup`<g ${ask(what, `${index},${device}`)} class="${step === one.step && 'sw-mlp-new'}">${rect([left, top, wide, tall], 'line sw-stroke-rule')}
${rect([left + column * right, top + row * down, columns * right, rows * down], `stroke-${step === one.step ? 'text' : done ? one.role : 'muted'}`, done ? texture(id, one.role) : markup`fill="transparent"`)}</g>`;
}

/** f or g: a bar over all lanes; where it adds, what each device holds has come around the ring.
 * @param {State} state @param {Plan} place @param {number} index @param {number} when its step in this pass */
function drawBar({ run, step, devices }, { stops, across, lane, xy }, index, when) {
  const { middle } = stops[index];
  const look = isSum(when) ? 'communication' : 'muted';
  const now = isSum(when) && step === when;
  return markup`<g ${ask(`${run.steps[when].title}, step ${when}. ${run.steps[when].says}`, `${index}`)}>${rect(
    [...xy(middle - BAR / 2, lane(0) - across / 2 + 4), ...xy(BAR, across * devices - 8)], `stroke-${look} ${isSum(when) && 'sw-mlp-sum'}`, markup`rx="4" fill="transparent"`,
  )}${Array.from({ length: devices }, (_, i) => {
    const [x, y] = xy(middle, lane(i));
    return markup`<g class="${now && 'sw-mlp-new'}" ${from(xy(0, i ? -across : across * (devices - 1)))}>${rect([x - NODE / 2, y - NODE / 2, NODE, NODE], `fill-${now ? look : 'page'} sw-stroke-${look}`, markup`rx="4"`)}${write(x, y + 4, `tiny sw-${now ? 'on-communication' : 'fill-text'}`, `d${i}`, 'middle')}</g>`;
  })}</g>`;
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from: before }) {
  const { run, step, devices } = state;
  const [back, place] = [isBack(state), plan(state, width)];
  const { flat, stops, lane, bottom, xy } = place;
  const { title, sent } = run.steps[step];
  const height = bottom + (flat ? 60 : 84);
  const anchor = flat && 'middle';
  const bytes = sent.reduce((sum, each) => sum + each) / devices;
  const lanes = [...Array(devices).keys()];
  return markup`<svg class="sw-svg ${before !== undefined && 'sw-mlp-moving'}" ${from(xy(back ? 16 : -16, 0))} viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="${title}">
${write(0, 18, STRONG, title)}${write(flat ? width : 0, flat ? 18 : 42, SMALL, bytes ? `each device sends ${formatBytes(bytes)}` : 'nothing is sent', flat && 'end')}
${stops.map(({ one, middle, end }, i) => {
    const [x, y] = flat ? [middle, 52] : [0, middle];
    const when = (i === 1 ? [1, LAST] : [5, 7])[back];
    return markup`${write(x, i === GELU && !flat ? y + 6 : y, STRONG, one?.name ?? run.places[i], anchor)}
${i !== GELU && write(x, flat && !one ? bottom + 12 : y + 16, 'tiny sw-fill-muted', one ? shapeOf(one.parts[0]) : isSum(when) ? 'all-reduce' : 'identity', anchor)}
${one ? (i % 10 ? lanes : [-1]).map((device) => drawTensor(state, place, id, i, one, device)) : i !== GELU && drawBar(state, place, i, when)}
${(i % 9 ? lanes : [-1]).map((device) => {
      const [left, top] = xy(i === GELU - 1 ? stops[GELU].middle : end, lane(device));
      return write(left, top + 5, 'small sw-fill-muted', SIGNS[back + (flat ? 0 : 2)][i], 'middle');
    })}`;
  })}
${LEGEND.map((role, i) => {
    const [left, top] = flat ? [i * 140, bottom + 32] : [(i % 2) * 128, bottom + 24 + 28 * (i >> 1)];
    return markup`${swatch(role, role[0].toUpperCase(), left, top)}${write(left + 28, top + 15, SMALL, role)}`;
  })}
</svg>`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  derive: (state) => ({ ...state, run: state.steps?.[state.devices] }),
  check: ({ run }) => checkRun(run),
  show: (state) => ({ pass: { value: isBack(state) }, step: { text: `${state.step} of ${LAST}` } }),
  change: (_, name, value) => (name === 'pass' ? { step: value * BACKWARD } : { [name]: value }),
  draw,
  say: ({ run, step }) => `${run.steps[step].says}`,
  phase: (state) => `${isBack(state)}`,
  table: ({ run }) => ({
    caption: 'Tensors, by the step that makes them',
    head: ['tensor', 'step', 'on each device', 'first element, by device', 'bytes sent, by device'],
    rows: run.places.flatMap((place) => (typeof place === 'string' ? [] : place)).sort((a, b) => a.step - b.step).map(({ name, formula, step, parts, first }) => [
      `${name} = ${formula}`, step, ...[[...new Set(parts.map(shapeOf))], first, run.steps[step].sent].map((all) => all.join(', ')),
    ]),
  }),
};
