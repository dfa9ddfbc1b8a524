// Context against devices: what one device holds of the sequence, how long that makes it, and what it costs in time.
import { ask } from '../shared/ask.js';
import { compact, digits, formatBytes, plural, whole } from '../shared/format.js';
import { open, swatch, texture, ticks, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { DEVICES, MAX_DEVICES, block, checkHardware, divisors, hidingBlock, link, parts, seconds, tokenBytes } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {{ x: (devices: number) => number, width: number, narrow: boolean, id: string, shown: number[] }} Place */

/** Role, letter, name and meaning of each part. @type {Record<string, [string, string, string, string]>} */
export const PARTS = {
  queries: ['parameters', 'Q', 'queries', 'which stay where they are'],
  outputs: ['optimizer', 'O', 'outputs', 'summed up block by block'],
  keys: ['activations', 'K', 'K and V', 'keys and values of its own'],
  gradients: ['gradients', 'G', 'gradients', 'of outputs and queries, in one layer at a time'],
  flight: ['communication', '→', 'in flight', 'keys and values on their way'],
};
const PLOT = 96; // height of a panel
const MUTED = 'small sw-fill-muted';
const NUMBER = 'small sw-number sw-fill-muted';

/** @type {[number, string][]} */
const UNITS = [[3600, 'h'], [60, 'min'], [1, 's'], [1e-3, 'ms'], [1e-6, 'µs']];

const unitOf = (/** @type {number} */ time) => UNITS.find(([least]) => time >= least) ?? UNITS[time ? 4 : 2];
export const duration = (/** @type {number} */ time) => `${digits(time / unitOf(time)[0])}\u00a0${unitOf(time)[1]}`;

/** @param {State} state */
function verdict(state) {
  const [compute, , waiting] = seconds(state);
  if (!block(state)) return '✕ no room for a token';
  if (state.devices === 1) return 'nothing travels';
  if (block(state) < hidingBlock(state)) return `✕ waits ${digits((100 * waiting) / (compute + waiting))} % of the time`;
  return state.layers ? '✓ hidden but the last hop' : '✓ transfers hidden';
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const top = narrow ? 88 : 64;
  const first = top + (narrow ? Object.keys(parts(state)).length * 24 + 68 : 116);
  const second = first + PLOT + 44;
  const height = second + PLOT + (narrow ? 120 : 84);
  const x = (/** @type {number} */ devices) => 8 + ((width - 16) * devices) / MAX_DEVICES;
  const shown = [...new Set([1, 8, 16, 24, 32, 40, 48, 56, 64, state.devices])];
  const place = { x, width, narrow, id, shown };
  return markup`${open(width, height, 'Context and time by devices')}
${write(0, 24, 'large sw-fill-text', markup`${compact(state.devices * block(state))} tokens<tspan class="sw-body" dx="6">on ${narrow ? state.devices : plural(state.devices, 'device')}</tspan>`)}
${write(narrow ? 0 : width, narrow ? 48 : 24, 'body sw-strong sw-fill-text', verdict(state), !narrow && 'end')}
${holds(state, top, place)}${context(state, first, place)}${time(state, second, place)}
${(narrow ? [16, 32] : [8, 16, 24, 32, 40, 48]).map((p) => write(x(p), height - 4, NUMBER, p, 'middle'))}
${write(width, height - 4, NUMBER, `${MAX_DEVICES} devices`, 'end')}
</svg>`;
}

/** What roles stand for, with a number each: columns, or rows where there is little room.
 * @param {string[][]} entries role, letter, name, number @param {number} y @param {Place} place */
const legend = (entries, y, { width, narrow }) => markup`${entries.map(([role, letter, name, value], i) => {
  const [x, top] = narrow ? [0, y + i * 24] : [(i * width) / 5, y];
  return markup`${swatch(role, letter, x, top)}${write(x + 28, top + 15, 'small sw-fill-text', name)}${write(narrow ? width : x + 28, top + (narrow ? 15 : 35), NUMBER, value, narrow && 'end')}`;
})}`;

/** The bar of what one device holds. @param {State} state @param {number} y @param {Place} place */
function holds(state, y, place) {
  const { width, narrow, id } = place;
  const [tokens, each, layers] = [block(state), tokenBytes(state), state.layers];
  const kinds = Object.entries(parts(state));
  let at = 0;
  return markup`${write(0, y - 8, MUTED, narrow ? 'Each holds' : `Each device holds in ${layers ? `training ${plural(layers, 'layer')}` : 'a forward pass'}`)}
${write(width, y - 8, NUMBER, `${compact(tokens)} tokens × ${formatBytes(each)}`, 'end')}
${kinds.map(([kind, bytes]) => {
    const [role, , name, what] = PARTS[kind];
    const [left, wide] = [at, tokens && (width * bytes) / each];
    at += wide;
    return markup`<rect x="${left}" y="${y}" width="${Math.max(wide, 1)}" height="32" ${texture(id, role)} class="sw-context-part" ${ask(`${name}, ${what}: ${whole(bytes)} bytes per token, ${formatBytes(bytes * tokens)} for ${whole(tokens)}`, kind)}/>`;
  })}
${legend(kinds.map(([kind, bytes]) => [...PARTS[kind].slice(0, 3), formatBytes(bytes * tokens)]), y + 44, place)}`;
}

/** A panel: heading, grid, lines, and a column to ask at each number of devices.
 * @param {{ y: number, head: [string, string], end: number, step: number, write: (value: number) => string, lines: unknown, at: (devices: number) => [number, string], gap: number }} panel
 * @param {Place} place @param {number} chosen */
function panel({ y, head, end, step, write: label, lines, at, gap }, { x, width, shown }, chosen) {
  const base = y + gap + PLOT;
  const level = (/** @type {number} */ value) => base - (PLOT * value) / end;
  return markup`${write(0, y, MUTED, head[0])}${write(width, y, 'small sw-strong sw-number sw-fill-text', head[1], 'end')}
${ticks(end / step, 3).map((n) => markup`<path d="M0 ${level(n * step)}H${width}" class="sw-line sw-stroke-rule"/>${n > 0 && write(0, level(n * step) + 14, 'tiny sw-number sw-fill-muted', label(n * step))}`)}
${lines}<path d="M${x(chosen)} ${base - PLOT}v${PLOT}" class="sw-line sw-stroke-muted"/>
${shown.map((p) => {
    const [value, text] = at(p);
    return markup`<g ${ask(`${plural(p, 'device')}: ${text}`, head[0][0] + p)}><rect x="${x(p) - 6}" y="${base - PLOT}" width="12" height="${PLOT}" class="sw-context-hit"/><circle cx="${x(p)}" cy="${level(value)}" r="${p === chosen ? 5 : 2.5}" class="sw-fill-text"/></g>`;
  })}`;
}

/** @param {State} state @param {number} y @param {Place} place */
function context(state, y, place) {
  const { x, narrow } = place;
  const tokens = block(state);
  return panel({
    y, end: MAX_DEVICES * Math.max(1, tokens), step: 1, write: compact, gap: 12,
    head: ['Context, tokens', `${state.devices} × ${narrow ? compact(tokens) : `${whole(tokens)} = ${whole(state.devices * tokens)}`}`],
    lines: markup`<path d="M${x(0)} ${y + 12 + PLOT}L${x(MAX_DEVICES)} ${y + (tokens ? 12 : 12 + PLOT)}" class="sw-context-line sw-stroke-text"/>`,
    at: (p) => [p * tokens, `${p} × ${whole(tokens)} = ${whole(p * tokens)} tokens of context`],
  }, place, state.devices);
}

/** @param {State} state @param {number} y @param {Place} place */
function time(state, y, place) {
  const { x, narrow, id } = place;
  const gap = narrow ? 96 : 60;
  const all = Array.from({ length: MAX_DEVICES }, (_, i) => seconds({ ...state, devices: i + 1 }));
  const end = Math.max(...all.map(([work, send, wait]) => Math.max(work + wait, send))) || 1;
  const path = (/** @type {number[]} */ values) => values.map((value, i) => `L${x(i + 1).toFixed(1)} ${(y + gap + PLOT * (1 - value / end)).toFixed(1)}`);
  const line = (/** @type {string[]} */ points, /** @type {unknown} */ look) => markup`<path d="${points.join('').replace('L', 'M')}" ${look}/>`;
  const [compute, sent, waited] = [path(all.map(([work]) => work)), path(all.map(([, send]) => send)), path(all.map(([work, , wait]) => work + wait))];
  const now = all[state.devices - 1];
  return markup`${legend([['parameters', 'F', 'compute'], ['communication', '→', 'send'], ['idle', '–', 'wait']].map((entry, i) => [...entry, duration(now[i])]), y + 12, place)}
${panel({
    y, end, gap, step: unitOf(end)[0], write: duration,
    head: [`A layer on each${narrow ? '' : ` ${state.hardware[0]}`}`, duration(now[0] + now[2])],
    lines: [
      line([...waited, ...compute.toReversed()], texture(id, 'idle')),
      line(sent, markup`class="sw-context-line sw-context-sent sw-stroke-communication"`),
      line(compute, markup`class="sw-context-line sw-stroke-parameters"`),
    ],
    at: (p) => {
      const [work, send, wait] = all[p - 1].map(duration);
      return [all[p - 1][0] + all[p - 1][2], `each computes ${work}, sends for ${send} and waits ${wait}; links of ${digits(link({ ...state, devices: p })[1] / 1e9)} GB/s`];
    },
  }, place, state.devices)}`;
}

/** @param {State} state */
function say(state) {
  const tokens = block(state);
  const [compute, send, wait] = seconds(state).map(duration);
  return `${plural(state.devices, 'device')} of ${whole(tokens)} tokens: ${whole(tokens * state.devices)} tokens of context. For a layer${state.layers ? ', forward and backward,' : ''} each computes ${compute}, ` +
    `sends for ${send} beside it and waits ${wait}; from ${whole(hidingBlock(state))} tokens on, a block hides its transfers.`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  check(state) {
    checkHardware(state);
    if (state.heads % state.kv_heads) throw new Error(`kv_heads must divide the ${state.heads} heads, not be ${state.kv_heads}`);
  },
  show: ({ memory, heads, layers }) => ({
    memory: { text: formatBytes(memory * 1e9) },
    kv_heads: { stops: divisors(heads) },
    ...(!layers && { layers: { text: 'none' } }),
  }),
  change: ({ kv_heads: kv }, name, value) => (name === 'heads' ? { heads: value, kv_heads: divisors(value).findLast((k) => k <= kv) } : { [name]: value }),
  draw,
  say,
  table: (state) => ({
    caption: `Each device holds ${whole(block(state))} tokens of ${whole(tokenBytes(state))} bytes: ${Object.entries(parts(state)).map(([kind, bytes]) => `${PARTS[kind][2]} ${whole(bytes)}`).join(', ')}`,
    head: ['devices', 'tokens', 'compute', 'send', 'wait'],
    rows: [...new Set([...DEVICES, state.devices])].sort((a, b) => a - b).map((devices) => [
      devices, whole(devices * block(state)), ...seconds({ ...state, devices }).map(duration),
    ]),
  }),
};
