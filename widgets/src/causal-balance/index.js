// The causal pairs of each device as columns up to the busiest one's height, over the positions that it holds;
// beside them the three layouts at one scale.
import { ask } from '../shared/ask.js';
import { digits, plural } from '../shared/format.js';
import { texture, textures, textWidth } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { LAYOUTS, balance, lastOf, spell } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {ReturnType<typeof balance>} Balance */

const SMALL = 14.17;
const [PLOT, STRIP, SIDE] = [144, 80, 208];
const BLOCKS = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256];

const whole = (/** @type {number} */ count) => count.toLocaleString('en-US');
const times = (/** @type {number} */ factor) => `${Number(factor.toFixed(factor < 10 ? 3 : 1))}×`;
const percent = (/** @type {number} */ share) => `${digits(100 * share)} %`;

/** Columns that fill a width. @param {number} width @param {number} count */
function columns(width, count) {
  const gap = width / count > 24 ? 8 : width / count > 8 ? 4 : 1.5;
  const pitch = (width + gap) / count;
  return { pitch, bar: pitch - gap, x: (/** @type {number} */ i) => i * pitch };
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const all = LAYOUTS.map((layout) => balance(state, layout));
  const own = all[LAYOUTS.indexOf(state.layout)];
  const scale = PLOT / Math.max(...all.map(({ most }) => most));
  const top = narrow ? 108 : 84;
  const base = top + PLOT;
  const strip = base + 68;
  const grid = columns(narrow ? width : width - SIDE - 24, state.devices);
  const height = strip + STRIP + (narrow ? 112 : 1);
  const even = own.most === own.least;
  return markup`<svg class="sw-svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="Causal pairs by device">
${textures(id, ['idle'])}
<text x="0" y="24" class="sw-large sw-fill-text">${times(own.slowdown)}<tspan class="sw-body" dx="8">${narrow ? 'slow-down' : 'the time of even work'}</tspan></text>
<text x="${narrow ? 0 : width}" y="${narrow ? 50 : 24}" text-anchor="${narrow ? 'start' : 'end'}" class="sw-body sw-strong sw-fill-text">${even ? '✓ exactly even' : `${narrow ? 'most ÷ least' : 'busiest ÷ least busy'}: ${times(own.imbalance)}`}</text>
${key(0, top - 44, markup`class="sw-fill-parameters"`, 'pairs computed')}
${key(148, top - 44, markup`fill="${texture(id, 'idle')}"`, narrow ? 'waiting' : 'waiting for the busiest')}
${own.work.map((_, device) => column(state, own, device, { id, top, base, scale, ...grid }))}
${lines(own, { base, scale, right: grid.x(state.devices) - grid.pitch + grid.bar })}
<text x="0" y="${strip - 8}" class="sw-small sw-fill-muted">Positions it holds, 0 at the top to ${whole(state.devices * state.block - 1)}</text>
${own.runs.map((runs, device) => held(state, runs, device, grid.x(device), strip, grid.bar))}
${all.map((entry, i) => {
    const place = narrow
      ? { x: (i * (width + 8)) / 3, y: strip + STRIP + 20, width: (width - 16) / 3, height: 91 }
      : { x: width - SIDE, y: 44 + (i * (height - 33)) / 3, width: SIDE, height: (height - 45) / 3 - 12 };
    return thumb(LAYOUTS[i], entry, LAYOUTS[i] === state.layout, scale, place, narrow);
  })}
</svg>`;
}

/** What a fill means. @param {number} x @param {number} y @param {unknown} paint @param {string} text */
const key = (x, y, paint, text) => markup`<rect x="${x}" y="${y}" width="12" height="12" ${paint}/>
<text x="${x + 20}" y="${y + 11}" class="sw-small sw-fill-muted">${text}</text>`;

/** @param {State} state @param {Balance} own @param {number} device @param {{ id: string, base: number, scale: number, pitch: number, bar: number, x: (i: number) => number }} place */
function column({ devices }, { runs, work, most, total }, device, { id, base, scale, pitch, bar, x }) {
  const [left, wait] = [x(device), 1 - work[device] / most];
  const sum = runs[device].map((run) => `${run[1]} · (${run[0] + 1} + ${lastOf(run) + 1})/2`).join(' + ');
  const room = (/** @type {number} */ count) => textWidth(whole(count), SMALL) <= pitch - 2;
  const each = [1, 2, 4].find((step) => step * pitch >= 20) ?? 8;
  const text = `Device ${device}: ${plural(work[device], 'pair')} = ${sum}, the query at position i sees i + 1 keys. ` +
    `${wait ? `It waits ${percent(wait)} of the time for the busiest, ${whole(most)}.` : 'No device computes more.'} Its share of all is ${percent(work[device] / total)}; even work is ${percent(1 / devices)}.`;
  return markup`<g ${ask(text, `d${device}`)}><rect x="${left}" y="${base - most * scale}" width="${bar}" height="${wait * most * scale}" fill="${texture(id, 'idle')}"/>
<rect x="${left}" y="${base - work[device] * scale}" width="${bar}" height="${work[device] * scale}" class="sw-fill-parameters"/></g>
${device % each === 0 && markup`<text x="${left + bar / 2}" y="${base + 18}" text-anchor="middle" class="sw-small sw-number sw-fill-muted">${device}</text>`}
${room(most) && markup`<text x="${left + bar / 2}" y="${base + 36}" text-anchor="middle" class="sw-small sw-number sw-fill-text">${whole(work[device])}</text>`}`;
}

/** The mean and the busiest, each named at its height. @param {Balance} own @param {{ base: number, scale: number, right: number }} place */
function lines({ mean, most, total, work }, { base, scale, right }) {
  const [low, high] = [base - mean * scale, base - most * scale];
  const label = `${mean < most ? 'mean' : 'each'} ${whole(mean)}`;
  return markup`<g ${ask(`Even work: ${whole(total)} pairs ÷ ${work.length} devices = ${whole(mean)}; all pairs are L(L + 1)/2, whatever the layout.`, 'mean')}>
<rect x="0" y="${low - 21}" width="${textWidth(label, SMALL) + 4}" height="18" class="sw-fill-page"/>
<text x="0" y="${low - 7}" class="sw-small sw-strong sw-number sw-fill-text">${label}</text>
<path d="M0 ${low}H${right}" class="sw-balance-mean sw-stroke-text"/></g>
${mean < most && markup`<text x="${right}" y="${high - 7}" text-anchor="end" class="sw-small sw-number sw-fill-text">most ${whole(most)}</text>`}`;
}

/** The sequence from top to bottom, with what one device holds. @param {State} state @param {import('./model.js').Run[]} runs @param {number} device @param {number} x @param {number} y @param {number} width */
function held({ devices, block }, runs, device, x, y, width) {
  const unit = STRIP / (devices * block);
  return markup`<g ${ask(`Device ${device} holds ${plural(block, 'token')}, at ${block > 1 ? 'positions' : 'position'} ${spell(runs)}.`, `p${device}`)}>
<rect x="${x}" y="${y}" width="${width}" height="${STRIP}" class="sw-balance-sequence"/>
${runs.map((run) => {
    const [first, , stride] = run;
    const dash = Math.max(unit, Math.min(1.5, (stride * unit) / 2));
    return markup`<path d="M${x + width / 2} ${y + first * unit}V${y + (lastOf(run) + 1) * unit}" stroke-width="${width}"${stride > 1 && markup` stroke-dasharray="${dash} ${stride * unit - dash}"`} class="sw-stroke-parameters"/>`;
  })}</g>`;
}

/** @param {string} layout @param {Balance} own @param {boolean} chosen @param {number} scale @param {{ x: number, y: number, width: number, height: number }} place @param {boolean} narrow */
function thumb(layout, { work, slowdown, imbalance, most, least, mean }, chosen, scale, { x, y, width, height }, narrow) {
  const plot = narrow ? { x: x + 8, y: y + height - 8, width: width - 16, height: 36 } : { x: x + 108, y: y + height - 12, width: 88, height: height - 24 };
  const grid = columns(plot.width, work.length);
  const tall = (/** @type {number} */ pairs) => (pairs * scale * plot.height) / PLOT;
  const [left, rows] = narrow ? [x + 8, [18, 40]] : [x + 12, [28, 52]];
  const text = `${layout}: slow-down ${times(slowdown)} = most ${whole(most)} ÷ mean ${whole(mean)}; most ÷ least ${whole(least)} = ${times(imbalance)}.`;
  return markup`<g ${ask(text, layout)}><rect x="${x + 1}" y="${y}" width="${width - 2}" height="${height}" rx="4" class="sw-balance-thumb ${chosen ? 'sw-stroke-text' : 'sw-stroke-rule'}"/>
<text x="${left}" y="${y + rows[0]}" class="${narrow ? 'sw-tiny' : 'sw-small'} ${chosen ? 'sw-fill-text' : 'sw-fill-muted'}">${layout}</text>
<text x="${left}" y="${y + rows[1]}" class="sw-body ${chosen && 'sw-strong'} sw-number sw-fill-text">${times(slowdown)}</text>
<path d="${work.map((pairs, i) => `M${(plot.x + grid.x(i)).toFixed(1)} ${plot.y}v-${tall(pairs).toFixed(1)}h${grid.bar.toFixed(1)}V${plot.y}z`).join('')}" class="sw-fill-parameters"/>
<path d="M${plot.x} ${plot.y - tall(mean)}h${plot.width}" class="sw-balance-mean sw-stroke-text"/></g>`;
}

/** @param {State} state */
function say(state) {
  const { work, most, least, mean, slowdown } = balance(state);
  const { devices, block, layout } = state;
  const start = `${plural(devices, 'device')} with ${plural(block, 'token')} each, ${layout}: `;
  if (most === least) return `${start}every device computes ${whole(most)} pairs, so none waits.`;
  return `${start}device ${work.indexOf(most)} computes ${whole(most)} pairs, the mean is ${whole(mean)}. All wait for the busiest, so the ring takes ${times(slowdown)} the time of even work` +
    `${layout === LAYOUTS[0] ? `; long blocks lead to 2 − 1/P = ${times(2 - 1 / devices)}` : ''}.`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  name: 'CausalBalance',
  className: 'sw-balance',
  title: 'Causal work by device',
  addressKey: 'balance',
  fields: {
    devices: { kind: 'whole', least: 2, most: 32 },
    block: { kind: 'whole', least: 1, most: 256 },
    layout: { kind: 'one', of: LAYOUTS },
  },
  controls: ({ devices, block, layout }) => [
    { kind: 'range', name: 'devices', label: 'Devices', stops: Array.from({ length: 31 }, (_, i) => i + 2), value: devices, text: `${devices}` },
    { kind: 'range', name: 'block', label: 'Tokens on each', stops: BLOCKS, value: block, text: `${block}` },
    { kind: 'choice', name: 'layout', label: 'Layout', value: layout, options: LAYOUTS.map((value) => ({ value, text: value })) },
  ],
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
        ['max ÷ mean', ...all.map(({ slowdown }) => times(slowdown))],
        ['max ÷ min', ...all.map(({ imbalance }) => times(imbalance))],
      ],
    };
  },
};
