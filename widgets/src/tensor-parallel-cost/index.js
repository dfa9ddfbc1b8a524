// Three panels over the number of devices: parameters fall, bytes rise to a ceiling, and all-reduces take over.
import { ask } from '../shared/ask.js';
import { compact, digits, duration, formatBytes, plural, whole } from '../shared/format.js';
import { open, texture, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { given } from './given.js';
import { DEVICES, cost } from './model.js';

/** @typedef {import('./model.js').State} State */

const [PLOT, PANEL] = [72, 132];
const ALL = [...DEVICES, Infinity];
const SMALL = 'small sw-number sw-fill-';
export const percent = (/** @type {number} */ share) => `${digits(100 * share)} %`;
const at = (/** @type {State} */ state, devices = 1) => cost({ ...state, devices });

/** Role, title, quantity, how it is written, and why it is what it is.
 * @type {[string, string, 'params' | 'bytes' | 'share', (value: number) => string, (one: ReturnType<typeof cost>, devices: number) => string][]} */
const PANELS = [
  ['parameters', 'Parameters of a layer on each', 'params', compact, () => '(12d² + 7d)/N of split matrices and biases, and 6d of LayerNorms and row biases that all have'],
  ['communication', 'Bytes that each device sends', 'bytes', formatBytes, () => '4 all-reduces of 2(N−1)/N · tokens · d · 2 B'],
  ['communication', 'Share of the time in all-reduces', 'share', percent, ({ allReduces, compute }, n) =>
    `4 all-reduces of ${whole(2 * (n - 1))} hops take ${duration(allReduces)} beside ${duration(compute)} of matrix products, 72d² · tokens/N FLOPs`],
];

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const [pitch, now, bottom] = [width / ALL.length, cost(state), 36 + PANELS.length * PANEL];
  const { node } = state.clusters[state.cluster];
  const inside = (1 + Math.log2(node)) * pitch;
  return markup`${open(width, bottom + 52, 'Cost of tensor parallelism by devices')}
${write(0, 24, 'large sw-fill-text', markup`${compact(now.params)}<tspan class="sw-body" dx="6">parameters ${!narrow && 'on '}each</tspan>`)}
${!narrow && write(width, 24, 'body sw-strong sw-fill-text', `sends ${percent(now.share)} of the time`, 'end')}
${PANELS.map(([role, title, key, text, why], i) => {
    const base = 36 + (i + 1) * PANEL;
    const most = Math.max(...ALL.map((devices) => at(state, devices)[key]));
    return markup`${write(0, base - PLOT - 28, `${SMALL}muted`, title)}${narrow && write(width, base - PLOT - 8, `${SMALL}text sw-strong`, text(now[key]), 'end')}
<path d="M${inside} ${base}v${-PLOT}" class="sw-tpcost-open sw-line sw-stroke-muted"/>
${ALL.map((devices, column) => {
      const one = at(state, devices);
      const [x, height, chosen] = [(column + 0.5) * pitch, Math.max(1.5, (PLOT * one[key]) / most), devices === state.devices];
      const bar = pitch - (narrow ? 8 : 24);
      return markup`<g ${ask(`${devices < Infinity ? plural(devices, 'device') : 'Ever more devices'}: ${text(one[key])}: ${why(one, devices)}.`, `${key}${devices}`)}><rect x="${x - bar / 2}" y="${base - height}" width="${bar}" height="${height}" ${chosen ? texture(id, role) : markup`fill="transparent"`} stroke-width="1.5" class="sw-stroke-${devices < Infinity ? role : 'muted'} ${devices === Infinity && 'sw-tpcost-open'}"/>
${!narrow && write(x, base - height - 6, `${SMALL}text ${chosen && 'sw-strong'}`, text(one[key]), 'middle')}</g>`;
    })}<path d="M0 ${base}H${width}" class="sw-line sw-stroke-rule"/>`;
  })}
${ALL.map((devices, column) => write((column + 0.5) * pitch, bottom + 20, `${SMALL}text ${devices === state.devices && 'sw-strong'}`, devices < Infinity ? devices : '∞', 'middle'))}
${write(inside - 8, bottom + 44, `${SMALL}muted`, `${narrow ? '' : 'devices in '}one node`, 'end')}${write(inside + 8, bottom + 44, `${SMALL}muted`, 'several nodes')}
</svg>`;
}

/** @param {State} state */
function say(state) {
  const { devices, clusters, cluster } = state;
  const { params, bytes, compute, allReduces } = cost(state);
  return `${plural(devices, 'device')}: each keeps ${compact(params)} of the layer’s ${compact(at(state).params)} parameters and sends ${formatBytes(bytes)} for a micro-batch, ` +
    `of at most ${formatBytes(at(state, Infinity).bytes)}. Its matrix products take ${duration(compute)}, its four all-reduces ${duration(allReduces)}${devices > clusters[cluster].node ? ', as the ring leaves the node' : ''}.`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  check({ d_model }) {
    if (d_model % 64) throw new Error(`d_model must be a multiple of 64, not ${d_model}`);
  },
  draw,
  say,
  table: (state) => ({
    caption: `A layer of ${whole(state.d_model)} with ${whole(state.tokens)} tokens, ${state.cluster}`,
    head: ['devices', 'parameters', 'bytes sent', 'matrix products', 'all-reduces', 'share'],
    rows: DEVICES.map((devices) => {
      const { params, bytes, compute, allReduces, share } = at(state, devices);
      return [devices, whole(params), formatBytes(bytes), duration(compute), duration(allReduces), percent(share)];
    }),
  }),
};
