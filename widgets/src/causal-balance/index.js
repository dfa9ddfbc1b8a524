// The causal pairs of each device as columns up to the busiest one's height, over the positions that it holds;
// beside them the three layouts at one scale.
import { ask } from '../shared/ask.js';
import { plural, whole } from '../shared/format.js';
import { LARGE, MUTED, STRONG, TEXT, open, texture, textWidth, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { LAYOUTS, balance, lastOf, spell } from './model.js';
import { key } from './legend.js';

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

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const all = LAYOUTS.map((layout) => balance(state, layout));
  const own = all[LAYOUTS.indexOf(state.layout)];
  const { runs, work, total, most, mean } = own;
  const { devices, block } = state;
  const high = Math.max(...all.map((one) => one.most));
  const tall = (/** @type {number} */ pairs) => (pairs * PLOT) / high;
  const top = narrow ? 108 : 84;
  const base = top + PLOT;
  const strip = base + 68;
  const height = strip + STRIP + (narrow ? 112 : 1);
  const right = narrow ? width : width - SIDE - 24;
  const [pitch, bar] = columns(right, devices);
  const name = `${most > mean ? 'mean' : 'each'} ${whole(mean)}`;
  const idle = texture(id, 'idle');
  return markup`${open(width, height, 'Causal pairs by device')}${write(0, 24, LARGE, markup`${times(own.slowdown)} <tspan class="sw-body">slow-down</tspan>`)}
${write(narrow ? 0 : width, narrow ? 50 : 24, STRONG, most > mean ? `most ÷ least ${times(own.imbalance)}` : '✓ exactly even', !narrow && 'end')}
${key(0, top - 44, markup`class="sw-fill-parameters"`, 'pairs computed')}${key(148, top - 44, idle, 'waiting')}
${work.map((pairs, device) => {
    const x = device * pitch;
    return markup`<g ${ask(aboutWork(own, device), `d${device}`)}><rect x="${x}" y="${base - tall(most)}" width="${bar}" height="${tall(most - pairs)}" ${idle}/><rect x="${x}" y="${base - tall(pairs)}" width="${bar}" height="${tall(pairs)}" class="sw-fill-parameters"/></g>
${device % Math.ceil(20 / pitch) === 0 && write(x + bar / 2, base + 18, MUTED, device, 'middle')}
${textWidth(whole(most), 14) < pitch && write(x + bar / 2, base + 36, TEXT, whole(pairs), 'middle')}
<g ${ask(`Device ${device} holds ${plural(block, 'token')}, at ${spell(runs[device])} of 0 to ${devices * block - 1}.`, `p${device}`)}><rect x="${x}" y="${strip}" width="${bar}" height="${STRIP}" class="sw-balance-sequence"/>${held(runs[device], x, strip, bar, STRIP / devices / block)}</g>`;
  })}
<g ${ask(`Even work: ${whole(total)} pairs ÷ ${devices} devices = ${whole(mean)}. All pairs are L(L + 1)/2 with L = ${devices} · ${block}, whatever the layout.`, 'mean')}><rect y="${base - tall(mean) - 21}" width="${textWidth(name, 14.5)}" height="18" class="sw-fill-page"/>
${write(0, base - tall(mean) - 7, `${TEXT} sw-strong`, name)}<path d="M0 ${base - tall(mean)}H${right}" class="sw-balance-mean"/></g>
${most > mean && write(right, base - tall(most) - 7, TEXT, `most ${whole(most)}`, 'end')}
${write(0, strip - 8, MUTED, `Positions held, 0 at the top to ${whole(devices * block - 1)}`)}
${all.map((one, i) => thumb(LAYOUTS[i], one, one === own, tall, narrow
    ? [(i * (width + 8)) / 3, strip + STRIP + 20, (width - 16) / 3, 91]
    : [width - SIDE, 44 + (i * (height - 32)) / 3, SIDE, (height - 68) / 3]))}
</svg>`;
}

/** @param {Balance} own @param {number} device */
function aboutWork({ runs, work, most }, device) {
  const sum = runs[device].map((run) => `${run[1]} · (${run[0] + 1} + ${lastOf(run) + 1})/2`).join(' + ');
  const wait = Math.round(100 - (100 * work[device]) / most);
  return `Device ${device}: ${plural(work[device], 'pair')} = ${sum}, as the query at position i sees i + 1 keys. It waits ${wait} % of the time for the busiest, with ${whole(most)}.`;
}

/** Where a device's tokens lie in the sequence, which goes down. @param {import('./model.js').Run[]} runs @param {number} x @param {number} y @param {number} width @param {number} unit */
const held = (runs, x, y, width, unit) => runs.map((run) => {
  const stride = run[2] * unit;
  const dash = Math.max(unit, Math.min(1.5, stride / 2));
  return markup`<path d="M${x + width / 2} ${y + run[0] * unit}V${y + (lastOf(run) + 1) * unit}" stroke-width="${width}" stroke-dasharray="${run[2] > 1 ? `${dash} ${stride - dash}` : 'none'}" fill="none" class="sw-stroke-parameters"/>`;
});

/** One layout in small. @param {string} layout @param {Balance} own @param {boolean} chosen @param {(pairs: number) => number} tall @param {number[]} place */
function thumb(layout, { work, slowdown, imbalance, most, least, mean }, chosen, tall, [x, y, width, height]) {
  const [left, high] = width > 120 ? [x + 104, height - 16] : [x + 8, 36];
  const [end, base] = [x + width - 8, y + height - 8];
  const [pitch, bar] = columns(end - left, work.length);
  const short = (/** @type {number} */ pairs) => (tall(pairs) * high) / PLOT;
  return markup`<g ${ask(`${layout}: slow-down ${times(slowdown)} = most ${whole(most)} ÷ mean ${whole(mean)}; most ÷ least ${whole(least)} = ${times(imbalance)}.`, layout)}><rect x="${x + 1}" y="${y}" width="${width - 2}" height="${height}" rx="4" class="sw-balance-thumb sw-stroke-${chosen ? 'text' : 'rule'}"/>
${write(x + 8, y + 20, `${width > 120 ? 'small' : 'tiny'} sw-fill-text`, layout)}${write(x + 8, y + 42, chosen ? STRONG : 'body sw-fill-text', times(slowdown))}
<path d="${work.map((pairs, i) => `M${(left + i * pitch).toFixed(1)} ${base}v-${short(pairs).toFixed(1)}h${bar.toFixed(1)}V${base}z`).join('')}" class="sw-fill-parameters"/><path d="M${left} ${base - short(mean)}H${end}" class="sw-balance-mean"/></g>`;
}

/** @param {State} state */
function say(state) {
  const { work, most, mean, slowdown } = balance(state);
  const { devices, block, layout } = state;
  return `${devices} devices with ${plural(block, 'token')} each, ${layout}: ` + (most > mean
    ? `device ${work.indexOf(most)} computes ${whole(most)} pairs, the mean is ${whole(mean)}. All wait for the busiest: the ring takes ${times(slowdown)} the time of even work` +
      `${layout === LAYOUTS[0] ? `, and long blocks lead to 2 − 1/P = ${times(2 - 1 / devices)}` : ''}.`
    : `each computes ${whole(most)} pairs, so none waits.`);
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  draw,
  say,
  table(state) {
    const all = LAYOUTS.map((layout) => balance(state, layout));
    return {
      caption: `Causal pairs of each device, ${plural(state.block, 'token')} on each`,
      head: ['Device', ...LAYOUTS],
      rows: [
        ...all[0].work.map((_, device) => [device, ...all.map(({ work }) => whole(work[device]))]),
        ['mean', ...all.map(({ mean }) => whole(mean))],
        ['most ÷ mean', ...all.map(({ slowdown }) => times(slowdown))],
        ['most ÷ least', ...all.map(({ imbalance }) => times(imbalance))],
      ],
    };
  },
};
