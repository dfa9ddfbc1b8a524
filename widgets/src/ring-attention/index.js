// A recorded ring attention: devices stand on a circle with their queries, blocks of keys and values travel inside
// it, and the picture of all queries by all keys shows which tiles of the attention matrix that has done.
import { ask } from '../shared/ask.js';
import { digits, formatBytes, whole } from '../shared/format.js';
import { open, texture, write } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { LARGE, MUTED, STRONG, TEXT, key } from '../causal-balance/legend.js';
import { spell } from '../causal-balance/model.js';
import { given } from './given.js';
import { checkRun, kindOf, lastPosition, pairsIn, runsIn, sentBy, shares, stepOf, tokensOf } from './model.js';

/** @typedef {import('./model.js').Run} Run */
/** @typedef {import('./model.js').Kind} Kind */
/** @typedef {{ devices: number, step: number, causal: boolean, layout: string, steps: Run, runs?: Record<string, Run> }} State */

/** The role and the name of each kind of tile. @type {Record<Kind, [role: string, name: string]>} */
const KINDS = { now: ['parameters', 'now'], done: ['optimizer', 'done'], open: ['', 'to come'], skipped: ['idle', 'skipped'] };

/** The run that is drawn, and its step. @param {State} state @returns {[Run, number]} */
const at = ({ steps: run, step }) => [run, Math.min(step, run.devices)];

/** @param {string} id @param {Kind} kind @param {boolean} [fresh] */
const paint = (id, kind, fresh) => {
  const [role] = KINDS[kind];
  return role ? markup`${texture(id, role)}${fresh && markup` class="sw-att-new"`}` : markup`class="sw-att-open"`;
};

/** A number of pairs; a reader's own run may have millions. @param {number} count */
const big = (count) => (count < 1e5 ? whole(count) : count < 1e6 ? `${digits(count / 1e3)}\u00a0k` : `${digits(count / 1e6)}\u00a0M`);

/** @param {Run} run @param {number} device */
const places = (run, device) => `tokens ${spell(runsIn(run, device))}`;

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from }) {
  const [run, step] = at(state);
  const narrow = width < 560;
  const [x, top] = narrow ? [0, 84] : [width, 64];
  const box = narrow ? width : (width - 32) / 2;
  const [left, up] = narrow ? [0, top + box + 40] : [box + 32, top];
  const below = up + box + 28;
  const bytes = below + (narrow ? 56 : 32);
  const height = bytes + (narrow ? 56 : 36);
  const moving = from !== undefined && step > 1;
  const visible = pairsIn(run, run.devices, ['done', 'now']);
  const hops = run.devices - 1;
  const part = (width + 4) / hops;
  return markup`${open(width, height, 'Ring and attention matrix', moving && 'sw-att-moving')}${write(0, 24, LARGE, markup`${digits((100 * pairsIn(run, step, ['done', 'now'])) / visible)} % <tspan class="sw-body">of ${big(visible)} pairs done</tspan>`)}
${write(x, narrow ? 50 : 24, STRONG, verdict(run, step), !narrow && 'end')}
${write(0, top - 8, MUTED, 'Queries stay, K and V travel')}${ring(run, step, id, box, top, moving)}
${write(left, up - 8, MUTED, 'Rows: queries, columns: keys')}${tiles(run, step, id, box, left, up)}
${Object.entries(KINDS).map(([kind, [, name]], i) => key(
    narrow ? (i % 2) * (width / 2) : (i * width) / 4, narrow && i > 1 ? below + 24 : below, paint(id, /** @type {Kind} */ (kind)),
    markup`${kind === 'skipped' && !narrow && 'tiles '}${name} <tspan class="sw-fill-text">${kind === 'skipped' ? run.pairs.flat().filter((pairs) => !pairs).length : big(pairsIn(run, step, [/** @type {Kind} */ (kind)]))}</tspan>`,
  ))}
${Array.from({ length: hops }, (_, hop) => markup`<rect ${ask(`Hop ${hop + 1} of P − 1 = ${hops}: each device sends the block that it holds to its right neighbour; device 0 sends ${formatBytes(run.bytes[run.held[hop][0]])}.`, `h${hop}`)} x="${hop * part + 1}" y="${bytes}" width="${part - 6}" height="12" rx="2" class="${hop < step - 1 ? 'sw-fill-communication' : 'sw-att-open'}"/>`)}
${write(0, bytes + 30, TEXT, `${new Set(run.bytes).size > 1 ? 'Device 0' : 'Each'} sent ${formatBytes(sentBy(run, step, 0))} of ${formatBytes(sentBy(run, run.devices, 0))}`)}
${write(x, bytes + (narrow ? 50 : 30), MUTED, 'P − 1 blocks of K and V', !narrow && 'end')}
</svg>`;
}

/** @param {Run} run @param {number} step */
function verdict(run, step) {
  if (step === run.devices) return `max |ring − full| ${run.error.toExponential(1)}`;
  return step ? `busiest now: ${big(Math.max(...run.held[step - 1].map((block, device) => run.pairs[device][block])))} pairs` : 'nothing absorbed yet';
}

/** A point on a circle around 0, in turns from its top. @param {number} radius @param {number} turn */
const point = (radius, turn) => `${(radius * Math.sin(2 * Math.PI * turn)).toFixed(1)} ${(-radius * Math.cos(2 * Math.PI * turn)).toFixed(1)}`;

/** @param {Run} run @param {number} step @param {string} id @param {number} box @param {number} top @param {boolean} moving */
function ring(run, step, id, box, top, moving) {
  const n = run.devices;
  const size = box < 300 ? 24 : 28;
  const inner = box / 2 - 2 * size - 24;
  const arc = (/** @type {number} */ a, /** @type {number} */ b) => `M${point(inner, a)}A${inner} ${inner} 0 0 1 ${point(inner, b)}`;
  const gap = 4 / inner; // in turns, from the middle of a tile to its arrow
  return markup`<g transform="translate(${box / 2} ${top + box / 2})"><circle r="${inner}" class="sw-att-open"/>
${write(0, -2, STRONG, step > 1 ? `hop ${step - 1}` : 'no hop', 'middle')}${write(0, 18, MUTED, step > 1 ? `of ${n - 1}` : 'yet', 'middle')}
${run.held[Math.max(0, step - 1)].map((block, device) => {
    const [here, before] = [device / n, (device - 1) / n];
    return markup`<g ${ask(aboutDevice(run, step, device), `q${device}`)} transform="translate(${point(box / 2 - size - 2, here)})">${run.held.map((row, i) =>
      markup`<path d="M${point(size, i / n)}A${size} ${size} 0 0 1 ${point(size, (i + 1) / n)}L${point(size - 8, (i + 1) / n)}A${size - 8} ${size - 8} 0 0 0 ${point(size - 8, i / n)}z" ${paint(id, i < step ? kindOf(run, device, row[device], step) : 'open', i === step - 1)}/>`)}
<circle r="${size - 10}" class="sw-fill-parameters"/>${write(0, 5, 'small sw-strong sw-on-parameters', `Q${device}`, 'middle')}</g>
${step > 1 && markup`<path d="${arc(before + gap, here - gap)}" marker-end="url(#${id}-head)" class="sw-att-way"/>`}
<g ${ask(aboutBlock(run, step, device, block), `kv${block}`)} ${moving ? markup`class="sw-att-rider" style="offset-path:path('${arc(before, here)}')"` : markup`transform="translate(${point(inner, here)})"`}><rect x="-18" y="-10" width="36" height="20" rx="4" class="sw-fill-activations"/>${write(0, 5, 'small sw-strong sw-on-activations', `KV${block}`, 'middle')}</g>`;
  })}</g>`;
}

/** @param {Run} run @param {number} step @param {string} id @param {number} box @param {number} x @param {number} y */
function tiles(run, step, id, box, x, y) {
  const size = (box - 28) / run.devices;
  const side = size - 3;
  return run.pairs.map((row, device) => markup`${write(x + 28 + (device + 0.5) * size, y + 12, 'tiny sw-fill-muted', `KV${device}`, 'middle')}${write(x, y + 24 + (device + 0.5) * size, 'tiny sw-fill-muted', `Q${device}`)}
${row.map((_, block) => {
    const kind = kindOf(run, device, block, step);
    const when = stepOf(run, device, block);
    const rows = shares(run, device, block);
    const [role] = KINDS[kind];
    return markup`<g ${ask(aboutTile(run, step, device, block), `t${device},${block}`)} transform="translate(${x + 29.5 + block * size} ${y + 21.5 + device * size})"><rect width="${side}" height="${side}" class="sw-att-tile sw-stroke-${when === step ? 'text' : 'rule'}"/>
<path d="M0 0${rows.map((share) => `H${(share * side).toFixed(1)}v${(side / rows.length).toFixed(2)}`).join('')}H0z" ${paint(id, kind, when === step)}/>${role && markup`<rect x="1" y="${side - 15}" width="10" height="14" class="sw-fill-${role}"/>`}
${write(2.5, side - 4, `tiny sw-number ${role ? `sw-on-${role}` : 'sw-fill-muted'}`, when)}</g>`;
  })}`);
}

/** @param {Run} run @param {number} step @param {number} device */
function aboutDevice(run, step, device) {
  const [done, all] = [step, run.devices].map((until) => pairsIn(run, until, ['done', 'now'], device));
  const block = run.held[step - 1]?.[device];
  const now = block === undefined ? 'absorbs nothing yet' : run.pairs[device][block] ? `absorbs KV${block}` : `skips KV${block}, which lies in its future`;
  return `Device ${device} has the queries of ${places(run, device)}. It ${now}; ${done} of ${all} pairs are done.${maximum(run, step, device)}`;
}

/** What becomes of the running maximum of a device's last query. @param {Run} run @param {number} step @param {number} device */
function maximum(run, step, device) {
  const [before, after] = [step - 2, step - 1].map((t) => run.top[t]?.[device] ?? null);
  if (after === null) return '';
  const rescaled = before !== null && after > before ? `, up from ${before}: its sums so far shrink by e^(old m − new m) = ${digits(Math.exp(before - after))}` : '';
  return ` For query ${lastPosition(run, device)} the largest logit m is ${after}${rescaled}; ℓ = ${digits(run.sums[step - 1][device])}.`.replaceAll(' -', ' −');
}

/** @param {Run} run @param {number} step @param {number} device @param {number} block */
const aboutBlock = (run, step, device, block) =>
  `KV${block}: keys and values of ${places(run, block)}, ${formatBytes(run.bytes[block])}, now on device ${device}${step > 1 ? `, from device ${run.held[step - 2].indexOf(block)}` : ''}.`;

/** @param {Run} run @param {number} step @param {number} device @param {number} block */
function aboutTile(run, step, device, block) {
  const kind = kindOf(run, device, block, step);
  return `Queries of device ${device} (${places(run, device)}) by KV${block} (${places(run, block)}): step ${stepOf(run, device, block)}, ${KINDS[kind][1]}; ` +
    `${run.pairs[device][block]} of ${tokensOf(run, device) * tokensOf(run, block)} pairs${run.causal ? ', as no query sees a later key' : ''}.`;
}

/** @param {State} state */
function say(state) {
  const [run, step] = at(state);
  const n = run.devices;
  if (!step) return `Start: ${n} devices share ${run.tokens} tokens. Each keeps its queries and holds its own block of keys and values.`;
  const skips = run.held[step - 1].filter((block, device) => !run.pairs[device][block]).length;
  return `Step ${step} of ${n}: each device ${step > 1 ? 'gets the block of its left neighbour' : 'takes its own block'} and absorbs it${skips ? `, but for ${skips} it lies in the future and is skipped` : ''}.` +
    `${maximum(run, step, n - 1)}${step === n ? ' Every query has met every key that it may see.' : ''}`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  // A page brings the runs of every ring that its controls reach; a kernel records the one that is asked for.
  derive: (state) => ({ ...state, steps: state.runs?.[`${state.devices},${Number(state.causal)},${state.layout}`] ?? state.steps }),
  check({ devices, step, steps }) {
    if (step > devices) throw new Error(`${devices} devices have steps 0 to ${devices}, not ${step}`);
    checkRun(steps);
  },
  show(state) {
    const [run, step] = at(state);
    return { step: { value: step, last: run.devices, text: `${step} of ${run.devices}` } };
  },
  // Another ring has another number of steps: it begins at its start.
  change: (_state, name, value) => (name === 'devices' ? { devices: value, step: 0 } : { [name]: value }),
  draw,
  say,
  table: ({ steps: run }) => ({
    caption: 'By step: each device’s block, its pairs, and m of its last query',
    head: ['Step', ...run.pairs.map((_, device) => `Device ${device}`)],
    rows: run.held.map((row, t) => [t + 1, ...row.map((block, device) => `KV${block}, ${run.pairs[device][block]}, ${run.top[t][device] ?? '–'}`)]),
  }),
};
