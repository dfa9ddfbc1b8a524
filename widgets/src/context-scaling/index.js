// Context against devices: what one device holds of the sequence, how long that makes it, and what it costs in time.
import { ask } from '../shared/ask.js';
import { digits, formatBytes, plural } from '../shared/format.js';
import { swatch, texture, textures, ticks, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import {
  CLUSTERS, DEVICES, HEADS, HEAD_SIZES, LAYERS, MAX_DEVICES, MAX_HEADS, MAX_LAYERS, MAX_MEMORY, MEMORIES, block, checkClusters, divisors,
  hidingBlock, link, parts, seconds, tokenBytes,
} from './model.js';

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

const count = (/** @type {number} */ n) => n.toLocaleString('en-US');
const compact = (/** @type {number} */ n) => n.toLocaleString('en-US', { notation: 'compact', maximumSignificantDigits: 3 });
const unitOf = (/** @type {number} */ time) => UNITS.find(([least]) => time >= least) ?? UNITS[time ? 4 : 2];
export const duration = (/** @type {number} */ time) => `${digits(time / unitOf(time)[0])}\u00a0${unitOf(time)[1]}`;

/** @param {State} state */
function verdict(state) {
  const { compute, waiting } = seconds(state);
  if (!block(state)) return '✕ no room for a token';
  if (state.devices === 1) return 'nothing travels';
  return block(state) < hidingBlock(state) ? `✕ waits ${digits((100 * waiting) / (compute + waiting))} % of the time` : `✓ hidden${state.layers ? ' but the last hop' : ': no wait'}`;
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const top = narrow ? 88 : 64;
  const first = top + (narrow ? Object.keys(parts(state)).length * 24 + 68 : 116);
  const second = first + PLOT + 44;
  const height = second + PLOT + 84;
  const x = (/** @type {number} */ devices) => 8 + ((width - 16) * devices) / MAX_DEVICES;
  const shown = [...new Set([1, 8, 16, 24, 32, 40, 48, 56, 64, state.devices])];
  const place = { x, width, narrow, id, shown };
  return markup`<svg class="sw-svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="Context and time by devices">
${textures(id, [...Object.values(PARTS).map(([role]) => role), 'idle'])}
${write(0, 24, 'large sw-fill-text', markup`${compact(state.devices * block(state))} tokens<tspan class="sw-body" dx="6">on ${narrow ? state.devices : plural(state.devices, 'device')}</tspan>`)}
${write(narrow ? 0 : width, narrow ? 48 : 24, 'body sw-strong sw-fill-text', verdict(state), !narrow && 'end')}
${holds(state, top, place)}${context(state, first, place)}${time(state, second, place)}
${(narrow ? [16, 32] : [8, 16, 24, 32, 40, 48]).map((p) => write(x(p), height - 4, NUMBER, p, 'middle'))}
${write(width, height - 4, NUMBER, `${MAX_DEVICES} devices`, 'end')}
</svg>`;
}

/** The bar of what one device holds. @param {State} state @param {number} y @param {Place} place */
function holds(state, y, { width, narrow, id }) {
  const [tokens, each] = [block(state), tokenBytes(state)];
  let at = 0;
  return markup`${write(0, y - 8, MUTED, `Each ${narrow ? '' : 'device '}holds`)}
${write(width, y - 8, NUMBER, `${compact(tokens)} tokens × ${formatBytes(each)}`, 'end')}
${Object.entries(parts(state)).map(([kind, bytes], i) => {
    const [role, letter, name, what] = PARTS[kind];
    const [left, wide] = [at, (width * bytes) / each];
    const [lx, ly] = narrow ? [0, y + 44 + i * 24] : [(i * width) / 5, y + 44];
    at += wide;
    return markup`<rect x="${left}" y="${y}" width="${Math.max(wide, 1)}" height="32" fill="${texture(id, role)}" class="sw-context-part" ${ask(`${name}, ${what}: ${count(bytes)} bytes per token, ${formatBytes(bytes * tokens)} for ${count(tokens)}`, kind)}/>
${swatch(role, letter, lx, ly)}${write(lx + 28, ly + 15, 'small sw-fill-text', name)}
${write(narrow ? width : lx + 28, ly + (narrow ? 15 : 35), NUMBER, formatBytes(bytes * tokens), narrow && 'end')}`;
  })}`;
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
    return markup`<g ${ask(`${plural(p, 'device')}: ${text}`, `${head[0]}${p}`)}><rect x="${x(p) - 6}" y="${base - PLOT}" width="12" height="${PLOT}" class="sw-context-hit"/><circle cx="${x(p)}" cy="${level(value)}" r="${p === chosen ? 5 : 2.5}" class="sw-fill-text"/></g>`;
  })}`;
}

/** @param {State} state @param {number} y @param {Place} place */
function context(state, y, place) {
  const { x, narrow } = place;
  const tokens = block(state);
  return panel({
    y, end: MAX_DEVICES * Math.max(1, tokens), step: 1, write: compact, gap: 12,
    head: ['Context, tokens', `${state.devices} × ${narrow ? compact(tokens) : `${count(tokens)} = ${count(state.devices * tokens)}`}`],
    lines: markup`<path d="M${x(0)} ${y + 12 + PLOT}L${x(MAX_DEVICES)} ${y + (tokens ? 12 : 12 + PLOT)}" class="sw-context-line sw-stroke-text"/>`,
    at: (p) => [p * tokens, `${p} × ${count(tokens)} = ${count(p * tokens)} tokens of context`],
  }, place, state.devices);
}

/** @param {State} state @param {number} y @param {Place} place */
function time(state, y, place) {
  const { x, width, id } = place;
  const all = Array.from({ length: MAX_DEVICES }, (_, i) => seconds({ ...state, devices: i + 1 }));
  const end = Math.max(...all.map(({ compute, communication, waiting }) => Math.max(compute + waiting, communication))) || 1;
  const path = (/** @type {(one: typeof all[0]) => number} */ of) => all.map((one, i) => `L${x(i + 1).toFixed(1)} ${(y + 60 + PLOT * (1 - of(one) / end)).toFixed(1)}`);
  const line = (/** @type {string[]} */ points, /** @type {string} */ look) => markup`<path d="${points.join('').replace('L', 'M')}" class="sw-context-line sw-${look}"/>`;
  const work = path((one) => one.compute);
  const { compute, communication, waiting } = all[state.devices - 1];
  const sent = 'context-sent sw-stroke-communication';
  return markup`${[['compute', compute, line(['L0 0', 'h12'], 'stroke-parameters')], ['send', communication, line(['L0 0', 'h12'], sent)], ['wait', waiting, markup`<rect y="-6" width="12" height="12" fill="${texture(id, 'idle')}"/>`]].map(
    ([name, took, sample], i) => markup`<g transform="translate(${(i * width) / (place.narrow ? 3 : 5)} ${y + 19})">${sample}${write(17, 5, 'small sw-fill-text', name)}${write(17, 23, NUMBER, duration(/** @type {number} */ (took)))}</g>`,
  )}
${panel({
    y, end, step: unitOf(end)[0], write: duration, gap: 60,
    head: ['Time of each, one layer', duration(compute + waiting)],
    lines: markup`<path d="${path((one) => one.compute + one.waiting).concat(work.toReversed()).join('').replace('L', 'M')}" fill="${texture(id, 'idle')}"/>${line(path((one) => one.communication), sent)}${line(work, 'stroke-parameters')}`,
    at: (p) => {
      const one = all[p - 1];
      return [one.compute + one.waiting, `each computes ${duration(one.compute)}, sends for ${duration(one.communication)} and waits ${duration(one.waiting)}; links of ${digits(link({ ...state, devices: p })[1] / 1e9)} GB/s`];
    },
  }, place, state.devices)}`;
}

/** @param {State} state */
function say(state) {
  const tokens = block(state);
  const { compute, communication, waiting } = seconds(state);
  return `${plural(state.devices, 'device')} of ${count(tokens)} tokens: ${count(tokens * state.devices)} tokens of context. For a layer${state.layers ? ', forward and backward,' : ''} each computes ${duration(compute)}, ` +
    `sends for ${duration(communication)} beside it and waits ${duration(waiting)}; from ${count(hidingBlock(state))} tokens on, a block hides its transfers.`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  name: 'ContextScaling',
  className: 'sw-context',
  title: 'Context scaling',
  addressKey: 'context',
  fields: {
    devices: { kind: 'whole', least: 1, most: MAX_DEVICES },
    memory: { kind: 'number', least: 0, most: MAX_MEMORY },
    heads: { kind: 'whole', least: 1, most: MAX_HEADS },
    kv_heads: { kind: 'whole', least: 1, most: MAX_HEADS },
    head_size: { kind: 'one', of: HEAD_SIZES },
    layers: { kind: 'whole', least: 0, most: MAX_LAYERS },
    cluster: { kind: 'one', of: CLUSTERS },
  },
  data: ['clusters'],
  check({ heads, kv_heads: kv, clusters }) {
    checkClusters(clusters);
    if (heads % kv) throw new Error(`kv_heads must divide the ${heads} heads, not be ${kv}`);
  },
  controls: (state) => [
    ...[
      { name: 'devices', label: 'Devices', stops: DEVICES },
      { name: 'memory', label: 'Memory for the sequence', stops: MEMORIES, text: formatBytes(state.memory * 1e9) },
      { name: 'heads', label: 'Heads', stops: HEADS },
      { name: 'kv_heads', label: 'Key and value heads', stops: divisors(state.heads) },
      { name: 'layers', label: 'Layers kept for backward', stops: LAYERS, ...(!state.layers && { text: 'forward only' }) },
    ].map((range) => {
      const value = /** @type {any} */ (state)[range.name];
      return { kind: /** @type {const} */ ('range'), value, text: String(value), ...range };
    }),
    { kind: 'choice', name: 'head_size', label: 'Head size', value: state.head_size, options: HEAD_SIZES.map((value) => ({ value, text: String(value) })) },
    {
      kind: 'select', name: 'cluster', label: 'Devices and links', wide: true, value: state.cluster,
      options: CLUSTERS.map((value) => {
        const [, node, , near, , far] = state.clusters[value];
        return { value, text: `${value}: ${digits(near / 1e9)} GB/s in nodes of ${node}, ${digits(far / 1e9)} between` };
      }),
    },
  ],
  change: ({ kv_heads: kv }, name, value) => (name === 'heads' ? { heads: value, kv_heads: divisors(value).findLast((k) => k <= kv) } : { [name]: value }),
  draw,
  say,
  table: (state) => ({
    caption: `Each device holds ${count(block(state))} tokens of ${count(tokenBytes(state))} bytes: ${Object.entries(parts(state)).map(([kind, bytes]) => `${PARTS[kind][2]} ${count(bytes)}`).join(', ')}`,
    head: ['devices', 'tokens', 'compute', 'send', 'wait'],
    rows: [...new Set([...DEVICES, state.devices])].sort((a, b) => a - b).map((devices) => {
      const { compute, communication, waiting } = seconds({ ...state, devices });
      return [devices, count(devices * block(state)), ...[compute, communication, waiting].map(duration)];
    }),
  }),
};
