// The causal pairs of each device as columns up to the busiest one's height, over the positions that it holds;
// beside them the three layouts at one scale.
import { plural, whole } from '../shared/format.js';
import { MUTED, STRONG, TEXT, headline, mark, open, path, rect, texture, textWidth, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { given } from './given.js';
import { key } from './legend.js';
import { LAYOUTS, balance, lastOf, spell } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {ReturnType<typeof balance>} Balance */

const [PLOT, STRIP, SIDE] = [144, 80, 208];

const times = (/** @type {number} */ factor) => `${Number(factor.toFixed(factor < 10 ? 3 : 1))}×`;

/** Pitch and breadth of columns that fill a width. @param {number} width @param {number} count */
function columns(width, count) {
  const gap = Math.min(8, width / count / 4);
  const pitch = (width + gap) / count;
  return [pitch, pitch - gap];
}

/** Where a device's tokens lie in the sequence, which goes down. @param {import('./model.js').Run[]} runs @param {number} x @param {number} y @param {number} width @param {number} unit */
const held = (runs, x, y, width, unit) => runs.map((run) => {
  const stride = run[2] * unit;
  const dash = Math.max(unit, Math.min(1.5, stride / 2));
  return path(markup`M${x + width / 2} ${y + run[0] * unit}V${y + (lastOf(run) + 1) * unit}`, 'stroke-parameters',
    markup`stroke-width="${width}" fill="none" stroke-dasharray="${run[2] > 1 ? markup`${dash} ${stride - dash}` : 'none'}"`);
});

/** One layout in small. @param {string} layout @param {Balance} own @param {boolean} chosen @param {(pairs: number) => number} tall @param {number[]} place */
function thumb(layout, { work, slowdown, imbalance, most, least, mean }, chosen, tall, [x, y, width, height]) {
  const wide = width > 120;
  const [left, high] = wide ? [x + 104, height - 16] : [x + 8, 36];
  const [end, base] = [x + width - 8, y + height - 8];
  const [pitch, bar] = columns(end - left, work.length);
  const short = (/** @type {number} */ pairs) => (tall(pairs) * high) / PLOT;
  return mark(layout, fill(given.layout, layout, times(slowdown), whole(most), whole(mean), whole(least), times(imbalance)), [
    rect(x + 1, y, width - 2, height, `balance-thumb sw-stroke-${chosen ? 'text' : 'rule'}`, markup`rx="4"`),
    write(x + 8, y + 20, `${wide ? 'small' : 'tiny'} sw-fill-text`, layout), write(x + 8, y + 42, chosen ? STRONG : 'body sw-fill-text', times(slowdown)),
    path(markup`${work.map((pairs, i) => markup`M${left + i * pitch} ${base}v-${short(pairs)}h${bar}V${base}z`)}`, 'fill-parameters'),
    path(markup`M${left} ${base - short(mean)}H${end}`, 'balance-mean'),
  ]);
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const all = LAYOUTS.map((layout) => balance(state, layout));
  const own = balance(state);
  const { runs, work, total, most, mean } = own;
  const { devices, block, layout } = state;
  const [last, uneven] = [whole(devices * block - 1), most > mean];
  const high = Math.max(...all.map((one) => one.most));
  const tall = (/** @type {number} */ pairs) => (pairs * PLOT) / high;
  const top = narrow ? 108 : 84;
  const base = top + PLOT;
  const [strip, level] = [base + 68, base - tall(mean)];
  const height = strip + STRIP + (narrow ? 112 : 1);
  const right = narrow ? width : width - SIDE - 24;
  const [pitch, bar] = columns(right, devices);
  const name = fill(uneven ? given.mean : given.each, whole(mean));
  const idle = texture(id, 'idle');
  return markup`${open(width, height, given.label)}
${headline(width, times(own.slowdown), given.slowdown, uneven ? fill(given.imbalance, times(own.imbalance)) : given.even)}
${key(0, top - 44, markup`class="sw-fill-parameters"`, given.computed)}${key(148, top - 44, idle, given.waiting)}
${work.map((pairs, device) => {
    const x = device * pitch;
    const sum = runs[device].map((run) => fill(given.run, run[1], run[0] + 1, lastOf(run) + 1)).join(' + ');
    return [
      mark(`d${device}`, fill(given.work, device, plural(pairs, 'pair'), sum, Math.round(100 - (100 * pairs) / most), whole(most)), [
        rect(x, base - tall(most), bar, tall(most - pairs), '', idle), rect(x, base - tall(pairs), bar, tall(pairs), 'fill-parameters'),
      ]),
      device % Math.ceil(20 / pitch) === 0 && write(x + bar / 2, base + 18, MUTED, device, 'middle'),
      textWidth(whole(most), 14) < pitch && write(x + bar / 2, base + 36, TEXT, whole(pairs), 'middle'),
      mark(`p${device}`, fill(given.holds, device, plural(block, 'token'), spell(runs[device]), last), [
        rect(x, strip, bar, STRIP, 'balance-sequence'), held(runs[device], x, strip, bar, STRIP / devices / block),
      ]),
    ];
  })}
${mark('mean', fill(given.total, whole(total), devices, whole(mean), devices, block), [
    rect(0, level - 21, textWidth(name, 14.5), 18, 'fill-page'), write(0, level - 7, `${TEXT} sw-strong`, name), path(markup`M0 ${level}H${right}`, 'balance-mean'),
  ])}
${uneven && write(right, base - tall(most) - 7, TEXT, fill(given.most, whole(most)), 'end')}
${write(0, strip - 8, MUTED, fill(given.strip, last))}
${all.map((one, i) => thumb(LAYOUTS[i], one, LAYOUTS[i] === layout, tall, narrow
    ? [(i * (width + 8)) / 3, strip + STRIP + 20, (width - 16) / 3, 91]
    : [width - SIDE, 44 + (i * (height - 32)) / 3, SIDE, (height - 68) / 3]))}
</svg>`;
}

/** @param {State} state */
function say(state) {
  const { work, most, mean, slowdown } = balance(state);
  const { devices, block, layout } = state;
  const limit = layout === LAYOUTS[0] ? fill(given.limit, times(2 - 1 / devices)) : '';
  return fill(given.said, devices, plural(block, 'token'), layout, most > mean
    ? fill(given.uneven, work.indexOf(most), whole(most), whole(mean), times(slowdown), limit)
    : fill(given.balanced, whole(most)));
}

/** @param {State} state */
function table(state) {
  const all = LAYOUTS.map((layout) => balance(state, layout));
  const [mean, slowdown, imbalance] = given.rows;
  return {
    caption: fill(given.caption, plural(state.block, 'token')),
    head: given.head,
    rows: [
      ...all[0].work.map((_, device) => [device, ...all.map(({ work }) => whole(work[device]))]),
      [mean, ...all.map((one) => whole(one.mean))],
      [slowdown, ...all.map((one) => times(one.slowdown))],
      [imbalance, ...all.map((one) => times(one.imbalance))],
    ],
  };
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = { ...given, given, draw, say, table };
