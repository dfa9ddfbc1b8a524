// The bubble of a pipeline over the number of micro-batches: the time of one device as a bar, and both definitions
// as curves over a logarithmic axis, with the chosen point, M = 4P and the target marked on them.
import { percent, plural, whole } from '../shared/format.js';
import { axis } from '../shared/plot.js';
import { MUTED, circle, headline, mark, open, path, rect, texture, textWidth, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { given } from './given.js';
import { MAX_MICROBATCHES, fewest, inOrder, ofIdeal, ofTotal } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {keyof typeof given.facts} Key */

const SMALL = 14.17;
const POWERS = [1, 2, 4, 8, 16, 32, 64, 128, MAX_MICROBATCHES];
const CURVES = { total: ofTotal, ideal: ofIdeal };

const inMicrobatches = (/** @type {number} */ count) => plural(count, 'micro-batch', 'micro-batches');

/** What a marked place says: name, formula, number. @param {State} state @param {Key} key */
function fact({ stages: p, microbatches: m, target }, key) {
  const n = p - 1;
  const [value, names, numbers] = /** @type {Record<Key, [string, unknown[], number[]]>} */ ({
    total: [percent(ofTotal(p, m)), [], [n, m, n]],
    ideal: [percent(ofIdeal(p, m)), [], [n, m]],
    four: [percent(ofTotal(p, 4 * p)), [4 * p], [n, 5 * p - 1]],
    target: [fill(given.fewest, whole(fewest(p, target))), [percent(target)], [target]],
  })[key];
  const [name, formula] = given.facts[key];
  return [fill(name, ...names), fill(formula, ...numbers), value];
}

/** The fact as a mark. @param {State} state @param {Key} key @param {string | number} at @param {unknown} content */
function factMark(state, key, at, content) {
  const [name, formula, value] = fact(state, key);
  return mark(key + at, fill(given.fact, value, name, formula), content);
}

/** The same sign in the chart and beside the number. @param {string} key @param {number} x @param {number} y */
function sign(key, x, y) {
  if (key === 'four') return path(markup`M${x} ${y - 10}v20`, 'bubble-four sw-stroke-muted');
  if (key === 'target') return path(markup`M${x} ${y - 7}l7 7-7 7-7-7z`, 'fill-muted');
  return circle(x, y, 6, `bubble-point sw-stroke-link sw-fill-${key === 'total' ? 'link' : 'page'}`);
}

/** All that the first device does, where a forward takes as long as a backward. @param {State} state @param {string} id @param {number} y @param {number} width */
function device({ stages: p, microbatches: m }, id, y, width) {
  const all = 2 * (m + p - 1);
  let at = 0;
  return given.slots.map(([role, word], i) => {
    const slots = i === 1 ? 2 * (p - 1) : m;
    const [left, wide, text] = [at, (slots * width) / all, fill(word, slots)];
    at += wide;
    return slots > 0 && mark(role, fill(given.slot, text, all), [
      rect(left, y, Math.max(1, wide - 1.5), 32, '', markup`rx="${Math.min(4, wide / 5)}" ${texture(id, role)}`),
      textWidth(text, SMALL) < wide - 12 && write(left + wide / 2, y + 21, `small sw-number sw-bubble-word sw-on-${role} sw-stroke-${role}`, text, 'middle'),
    ]);
  });
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const { stages: p, microbatches: m, target } = state;
  const narrow = +(width < 560);
  const [bar, top, tall, size] = narrow ? [66, 172, 160, 'small'] : [44, 146, 200, 'body'];
  const [left, right, bottom] = [56, width - 48, top + tall];
  const octave = (right - left) / Math.log2(MAX_MICROBATCHES);
  const x = (/** @type {number} */ count) => left + octave * Math.log2(count);
  const y = (/** @type {number} */ share) => bottom - Math.min(1, share) * tall;
  const enters = Math.max(1, p - 1); // where the share of the ideal time is 1
  const [least, at, total, ideal] = [fewest(p, target), x(m), y(ofTotal(p, m)), y(ofIdeal(p, m))];
  const reached = least <= MAX_MICROBATCHES;
  const names = given.curves[narrow];

  /** A label that stays within the width of the plot. @param {number} place @param {number} height @param {string} look @param {string} text */
  const centred = (place, height, look, text) => {
    const half = textWidth(text, SMALL) / 2;
    return write(Math.min(right - half, Math.max(left + half, place)), height, look, text, 'middle');
  };
  /** @param {'total' | 'ideal'} key  @param {number} from */
  const curve = (key, from) => path(markup`M${Array.from({ length: 65 }, (_, i) => {
    const count = from * (MAX_MICROBATCHES / from) ** (i / 64);
    return markup`${x(count)} ${y(CURVES[key](p, count))} `;
  })}`, `line sw-stroke-text sw-bubble-${key}`);
  /** @param {'total' | 'ideal'} key @param {number} count */
  const dot = (key, count) => {
    const share = CURVES[key](p, count);
    return share <= 1 && factMark({ ...state, microbatches: count }, key, count, [[8, 'reach'], [3, `point sw-stroke-text sw-fill-${key === 'total' ? 'text' : 'page'}`]].map(
      ([r, look]) => circle(x(count), y(share), Number(r), `bubble-${look}`),
    ));
  };

  return markup`${open(width, bottom + 176, given.label)}
${headline(width, percent(ofTotal(p, m)), given.share, fill(given.verdict, plural(p, 'stage'), m))}
${device(state, id, bar, width)}${write(0, bar + 50, MUTED, given.device[narrow])}
${[0, 0.25, 0.5, 0.75, 1].map((share) => [path(markup`M${left} ${y(share)}H${right}`), write(left - 12, y(share) + 5, MUTED, percent(share), 'end')])}
${axis(POWERS, x, bottom, (count) => (!narrow || Math.log2(count) % 2 === 0) && count)}
${factMark(state, 'four', 'line', [path(markup`M${x(4 * p)} ${top}V${bottom}`, 'bubble-four sw-stroke-muted'), centred(x(4 * p), top - 8, MUTED, given.rule[narrow])])}
${factMark(state, 'target', 'line', [
    path(markup`M${reached ? x(least) : right - 12} ${y(target)}H${right}`, 'line sw-stroke-muted'), reached && sign('target', x(least), y(target)),
    write(right + 8, y(target) + 5, MUTED, percent(target)),
  ])}
${curve('ideal', enters)}${curve('total', 1)}
${p > 1 && [centred(x(enters), top - 8, MUTED, names[1]), write(left + 8, y(ofTotal(p, 2 ** ((textWidth(names[0], SMALL) + 8) / octave))) + 18, MUTED, names[0])]}
${POWERS.map((count) => count !== m && [dot('ideal', count), dot('total', count)])}
${path(markup`M${at} ${ideal}V${total}M${at} ${bottom - 8}v16`, 'line sw-stroke-link')}
${factMark(state, 'ideal', 'point', ofIdeal(p, m) > 1 ? path(markup`M${at} ${top - 7}l7 11h-14z`, 'bubble-point sw-stroke-link sw-fill-page') : sign('ideal', at, ideal))}
${factMark(state, 'total', 'point', sign('total', at, total))}
${centred(at, bottom + 40, 'small sw-strong sw-number sw-fill-text', fill(given.chosen, m))}
${/** @type {Key[]} */ (Object.keys(given.facts)).map((key, i) => {
    const row = bottom + 64 + i * 28;
    const [name, formula, value] = fact(state, key);
    return factMark(state, key, '', [
      sign(key, 10, row + 10), write(28, row + 15, `${size} sw-fill-text`, name), !narrow && write(224, row + 15, MUTED, formula),
      write(width, row + 15, `${size} sw-number sw-strong sw-fill-text`, value, 'end'),
    ]);
  })}
</svg>`;
}

/** @param {State} state */
const say = ({ stages: p, microbatches: m, target }) => fill(
  given.said, plural(p, 'stage'), inMicrobatches(m), percent(ofTotal(p, m)), percent(ofIdeal(p, m)), percent(target), inMicrobatches(fewest(p, target)),
);

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  // The slider reaches M = 4P, and the fewest for the target.
  show: ({ stages: p, target }) => ({
    microbatches: { stops: inOrder([...given.controls[1].stops, 4 * p, Math.min(fewest(p, target), MAX_MICROBATCHES)]) },
  }),
  draw,
  say,
  table: ({ stages: p, microbatches: m, target }) => ({
    caption: fill(given.caption, plural(p, 'stage')),
    head: given.head,
    rows: inOrder([...POWERS, m, 4 * p, fewest(p, target)]).map((count) => [whole(count), percent(ofTotal(p, count)), percent(ofIdeal(p, count))]),
  }),
};
