// The bubble of a pipeline over the number of micro-batches: the time of one device as a bar, and both definitions
// as curves over a logarithmic axis, with the chosen point, M = 4P and the target marked on them.
import { ask } from '../shared/ask.js';
import { percent, plural, whole } from '../shared/format.js';
import { open, texture, textWidth, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { MAX_MICROBATCHES, fewest, microbatchStops, ofIdeal, ofTotal } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {'total' | 'ideal' | 'four' | 'target'} Key */

const SMALL = 14.17;
const MUTED = 'small sw-number sw-fill-muted';
const POWERS = Array.from({ length: Math.log2(MAX_MICROBATCHES) + 1 }, (_, i) => 2 ** i);
const CURVES = { total: ofTotal, ideal: ofIdeal };

const microbatchCount = (/** @type {number} */ count) => plural(count, 'micro-batch', 'micro-batches');

/** What the marked places say: name, formula, number. @param {State} state @returns {Record<Key, string[]>} */
const facts = ({ stages: p, microbatches: m, target }) => ({
  total: ['of the total time', `(P − 1)/(M + P − 1) = ${p - 1}/(${m} + ${p - 1})`, percent(ofTotal(p, m))],
  ideal: ['of the ideal time', `(P − 1)/M = ${p - 1}/${m}`, percent(ofIdeal(p, m))],
  four: [`at M = 4P = ${4 * p}`, `(P − 1)/(5P − 1) = ${p - 1}/${5 * p - 1}`, percent(ofTotal(p, 4 * p))],
  target: [`for at most ${percent(target)}`, `M ≥ (P − 1)(1 − t)/t, t = ${target}`, `M\u00a0=\u00a0${whole(fewest(p, target))}`],
});

/** The fact as the name of a mark. @param {State} state @param {Key} key @param {string | number} at */
function askFor(state, key, at) {
  const [name, formula, value] = facts(state)[key];
  return ask(`${value} ${name}: ${formula}.`, `${key}${at}`);
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const known = facts(state);
  const [bar, top, tall, size] = narrow ? [66, 172, 160, 'small'] : [44, 146, 200, 'body'];
  const rows = top + tall + 64;
  const place = layout(width, narrow, top, tall);
  return markup`${open(width, rows + 112, 'Bubble by micro-batches')}
${write(0, 24, 'large sw-number sw-fill-text', markup`${known.total[2]} <tspan class="sw-body">of the time idle</tspan>`)}
${write(narrow ? 0 : width, narrow ? 50 : 24, 'body sw-strong sw-fill-text', `${plural(state.stages, 'stage')}, M = ${state.microbatches}`, !narrow && 'end')}
${device(state, id, bar, width)}
${write(0, bar + 50, MUTED, `Device 0: ${narrow ? 'M F, 2(P − 1) idle, M B' : 'M forwards, 2(P − 1) slots without work, M backwards'}`)}
${axes(place)}${rules(state, place)}${curves(state, place)}${chosen(state, place)}
${Object.entries(known).map(([key, [name, formula, value]], i) => {
    const y = rows + i * 28;
    return markup`<g ${askFor(state, /** @type {Key} */ (key), '')}>${sign(key, 10, y + 10)}${write(28, y + 15, `${size} sw-fill-text`, name)}${!narrow && write(224, y + 15, MUTED, formula)}${write(width, y + 15, `${size} sw-number sw-strong sw-fill-text`, value, 'end')}</g>`;
  })}
</svg>`;
}

/** The same sign in the chart and beside the number. @param {string} key @param {number} x @param {number} y */
function sign(key, x, y) {
  if (key === 'four') return markup`<path d="M${x} ${y - 10}v20" class="sw-bubble-four sw-stroke-muted"/>`;
  if (key === 'target') return markup`<path d="M${x} ${y - 7}l7 7-7 7-7-7z" class="sw-fill-muted"/>`;
  return markup`<circle cx="${x}" cy="${y}" r="6" class="sw-bubble-point sw-stroke-link sw-fill-${key === 'total' ? 'link' : 'page'}"/>`;
}

/** All that the first device does, where a forward takes as long as a backward. @param {State} state @param {string} id @param {number} y @param {number} width */
function device({ stages: p, microbatches: m }, id, y, width) {
  let at = 0;
  const all = 2 * (m + p - 1);
  return /** @type {[string, number, string][]} */ ([['parameters', m, 'F'], ['idle', 2 * (p - 1), 'idle'], ['gradients', m, 'B']]).map(([role, slots, word]) => {
    const [left, wide, text] = [at, (slots * width) / all, `${slots} ${word}`];
    at += wide;
    return slots > 0 && markup`<g ${ask(`Device 0: ${text}, of ${all} slots in all.`, word)}><rect x="${left}" y="${y}" width="${Math.max(1, wide - 1.5)}" height="32" rx="${Math.min(4, wide / 5)}" ${texture(id, role)}/>
${textWidth(text, SMALL) < wide - 12 && write(left + wide / 2, y + 21, `small sw-number sw-bubble-word sw-on-${role} sw-stroke-${role}`, text, 'middle')}</g>`;
  });
}

/** Where the curves are drawn. @param {number} width @param {boolean} narrow @param {number} top @param {number} tall */
function layout(width, narrow, top, tall) {
  const [left, right, bottom] = [56, width - 48, top + tall];
  const octave = (right - left) / Math.log2(MAX_MICROBATCHES);
  return {
    narrow, left, right, top, bottom, octave,
    x: (/** @type {number} */ count) => left + octave * Math.log2(count),
    y: (/** @type {number} */ share) => bottom - Math.min(1, share) * tall,
  };
}

/** @typedef {ReturnType<typeof layout>} Place */

/** @param {unknown} d @param {string} look */
const line = (d, look) => markup`<path d="M${d}" class="sw-line sw-${look}"/>`;

/** A label that stays within the width of the plot. @param {Place} place @param {number} at @param {number} height @param {string} look @param {string} text */
function centred({ left, right }, at, height, look, text) {
  const half = textWidth(text, SMALL) / 2;
  return write(Math.min(right - half, Math.max(left + half, at)), height, look, text, 'middle');
}

/** @param {Place} place */
const axes = ({ narrow, left, right, bottom, x, y }) => markup`${[0, 0.25, 0.5, 0.75, 1].map((share) => markup`${line(markup`${left} ${y(share)}H${right}`, 'stroke-rule')}${write(left - 12, y(share) + 5, MUTED, percent(share), 'end')}`)}
${POWERS.map((count, i) => markup`${line(markup`${x(count)} ${bottom}v4`, 'stroke-rule')}${(!narrow || i % 2 === 0) && write(x(count), bottom + 20, MUTED, count, 'middle')}`)}`;

/** Both curves with their names, and a dot to ask at each power of two. @param {State} state @param {Place} place */
function curves(state, place) {
  const { stages: p, microbatches: m } = state;
  const { narrow, left, top, octave, x, y } = place;
  const enters = Math.max(1, p - 1); // where the share of the ideal time is 1
  const [total, ideal] = narrow ? ['total', 'ideal'] : ['of the total time', 'of the ideal time'];
  const curve = (/** @type {'total' | 'ideal'} */ key, /** @type {number} */ from, /** @type {string} */ look) =>
    line(Array.from({ length: 65 }, (_, i) => from * (MAX_MICROBATCHES / from) ** (i / 64)).map((count) => markup`${x(count)} ${y(CURVES[key](p, count))} `), look);
  const dot = (/** @type {'total' | 'ideal'} */ key, /** @type {number} */ count) => {
    const at = markup`cx="${x(count)}" cy="${y(CURVES[key](p, count))}"`;
    return CURVES[key](p, count) <= 1 && markup`<g ${askFor({ ...state, microbatches: count }, key, count)}><circle ${at} r="8" class="sw-bubble-reach"/><circle ${at} r="3" class="sw-bubble-point sw-stroke-text sw-fill-${key === 'total' ? 'text' : 'page'}"/></g>`;
  };
  return markup`${curve('ideal', enters, 'bubble-ideal sw-stroke-text')}${curve('total', 1, 'stroke-text')}
${p > 1 && markup`${centred(place, x(enters), top - 8, MUTED, ideal)}${write(left + 8, y(ofTotal(p, 2 ** ((textWidth(total, SMALL) + 8) / octave))) + 18, MUTED, total)}`}
${POWERS.map((count) => count !== m && markup`${dot('ideal', count)}${dot('total', count)}`)}`;
}

/** M = 4P and the target. @param {State} state @param {Place} place */
function rules(state, place) {
  const { stages: p, target } = state;
  const { narrow, right, top, bottom, x, y } = place;
  const least = fewest(p, target);
  const reached = least <= MAX_MICROBATCHES;
  return markup`<g ${askFor(state, 'four', 'line')}>${line(markup`${x(4 * p)} ${top}V${bottom}`, 'bubble-four sw-stroke-muted')}${centred(place, x(4 * p), top - 8, MUTED, narrow ? '4P' : 'M = 4P')}</g>
<g ${askFor(state, 'target', 'line')}>${line(markup`${reached ? x(least) : right - 12} ${y(target)}H${right}`, 'stroke-muted')}${reached && sign('target', x(least), y(target))}${write(right + 8, y(target) + 5, MUTED, percent(target))}</g>`;
}

/** The chosen number of micro-batches on both curves. @param {State} state @param {Place} place */
function chosen(state, place) {
  const { stages: p, microbatches: m } = state;
  const { top, bottom, x, y } = place;
  const [at, total, ideal] = [x(m), y(ofTotal(p, m)), y(ofIdeal(p, m))];
  const arrow = markup`<path d="M${at} ${top - 7}l7 11h-14z" class="sw-bubble-point sw-stroke-link sw-fill-page"/>`;
  return markup`${line(markup`${at} ${ideal}V${total}M${at} ${bottom - 8}v16`, 'stroke-link')}
<g ${askFor(state, 'ideal', 'point')}>${ofIdeal(p, m) > 1 ? arrow : sign('ideal', at, ideal)}</g>
<g ${askFor(state, 'total', 'point')}>${sign('total', at, total)}</g>
${centred(place, at, bottom + 40, 'small sw-strong sw-number sw-fill-text', `M = ${m}`)}`;
}

/** @param {State} state */
function say(state) {
  const { total, ideal } = facts(state);
  return `${plural(state.stages, 'stage')}, ${microbatchCount(state.microbatches)}: each device idles ${total[2]} of the total time, which is ${ideal[2]} of the ideal time. ` +
    `A bubble of at most ${percent(state.target)} takes ${microbatchCount(fewest(state.stages, state.target))}.`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  show: (state) => ({ microbatches: { stops: microbatchStops(state) } }),
  draw,
  say,
  table: ({ stages: p, microbatches: m, target }) => ({
    caption: `Bubble of ${plural(p, 'stage')}`,
    head: ['Micro-batches', 'Of the total time', 'Of the ideal time'],
    rows: [...new Set([...POWERS, m, 4 * p, fewest(p, target)])].sort((a, b) => a - b)
      .map((count) => [whole(count), percent(ofTotal(p, count)), percent(ofIdeal(p, count))]),
  }),
};
