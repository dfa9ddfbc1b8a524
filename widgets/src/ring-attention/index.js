// A recorded ring attention: devices stand on a circle with their queries, blocks of keys and values travel inside
// it, and the picture of all queries by all keys shows which tiles of the attention matrix that has done.
import { ask } from '../shared/ask.js';
import { digits, formatBytes, plural } from '../shared/format.js';
import { texture, textures } from '../shared/svg.js';
import { markup } from '../shared/text.js';
import { LAYOUTS, spell } from '../causal-balance/model.js';
import { MAX_DEVICES, MIN_DEVICES, checkRun, kindOf, lastPosition, pairsIn, runsIn, sentBy, shares, stepOf, tokensOf } from './model.js';

/** @typedef {import('./model.js').Run} Run */
/** @typedef {import('./model.js').Kind} Kind */
/** @typedef {{ devices: number, step: number, causal: boolean, layout: string, steps: Run, runs?: Record<string, Run> }} State */

/** The role and the name of each kind of tile. @type {Record<Kind, [role: string, name: string]>} */
const KINDS = { now: ['parameters', 'now'], done: ['optimizer', 'done'], open: ['', 'to come'], skipped: ['idle', 'skipped'] };

/** The run that is drawn, and its step. @param {State} state @returns {[Run, number]} */
const at = ({ steps: run, step }) => [run, Math.min(step, run.devices)];

/** @param {Run} run @param {number} device */
const places = (run, device) => `${tokensOf(run, device) > 1 ? 'positions' : 'position'} ${spell(runsIn(run, device))}`;

/** @param {string} id @param {Kind} kind @param {boolean} [fresh] */
const paint = (id, kind, fresh) => {
  const [role] = KINDS[kind];
  return role ? markup`fill="${texture(id, role)}"${fresh && markup` class="sw-att-new"`}` : markup`class="sw-att-open"`;
};

/** A number of pairs; a reader's own run may have millions. @param {number} count */
const big = (count) => (count < 1e5 ? count.toLocaleString('en-US') : `${digits(count / 1e6)}\u00a0M`);

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from }) {
  const [run, step] = at(state);
  const n = run.devices;
  const narrow = width < 560;
  const box = narrow ? width : (width - 32) / 2;
  const top = narrow ? 84 : 64;
  const matrix = narrow ? { x: 0, y: top + box + 44 } : { x: box + 32, y: top };
  const below = matrix.y + box + 28;
  const bytes = below + (narrow ? 56 : 32);
  const height = bytes + (narrow ? 56 : 36);
  const [done, visible] = [pairsIn(run, step, ['done', 'now']), pairsIn(run, step, ['done', 'now', 'open'])];
  return markup`<svg class="sw-svg ${from !== undefined && 'sw-att-moving'}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="Ring and attention matrix">
${textures(id, ['optimizer', 'idle', 'parameters'])}
<defs><marker id="${id}-head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" class="sw-fill-communication"/></marker></defs>
<text x="0" y="24" class="sw-large sw-number sw-fill-text">${digits((100 * done) / visible)} %<tspan class="sw-body" dx="8">of ${big(visible)} pairs done</tspan></text>
<text x="${narrow ? 0 : width}" y="${narrow ? 50 : 24}" text-anchor="${narrow ? 'start' : 'end'}" class="sw-body sw-strong sw-fill-text">${verdict(run, step, narrow)}</text>
<text x="0" y="${top - 8}" class="sw-small sw-fill-muted">Queries stay, K and V travel</text>
${ring(run, step, { id, box, top, moving: from !== undefined && step > 1 })}
<text x="${matrix.x}" y="${matrix.y - 8}" class="sw-small sw-fill-muted">Rows: queries, columns: keys</text>
${tiles(run, step, { id, box, ...matrix })}
${Object.entries(KINDS).map(([name, [, label]], i) => {
    const kind = /** @type {Kind} */ (name);
    const [x, y] = narrow ? [(i % 2) * (width / 2), below + Math.floor(i / 2) * 24] : [(i * width) / 4, below];
    const count = kind === 'skipped' ? plural(run.pairs.flat().filter((pairs) => !pairs).length, 'tile') : `${big(pairsIn(run, step, [kind]))}${narrow ? '' : ' pairs'}`;
    return markup`<rect x="${x + 1}" y="${y}" width="12" height="12" ${paint(id, kind)}/>
<text x="${x + 20}" y="${y + 11}" class="sw-small sw-number sw-fill-muted">${label} <tspan class="sw-fill-text">${count}</tspan></text>`;
  })}
${sent(run, step, bytes, width, narrow)}
</svg>`;
}

/** @param {Run} run @param {number} step @param {boolean} narrow */
function verdict(run, step, narrow) {
  if (step === run.devices) return `✓ ring − full ≤ ${run.error.toExponential(1)}`;
  if (!step) return 'no block absorbed yet';
  const most = Math.max(...run.held[step - 1].map((block, device) => run.pairs[device][block]));
  return `busiest${narrow ? '' : ' in this step'}: ${big(most)} pairs`;
}

/** @param {Run} run @param {number} step @param {{ id: string, box: number, top: number, moving: boolean }} place */
function ring(run, step, { id, box, top, moving }) {
  const n = run.devices;
  const size = box < 300 ? 24 : 28;
  const [x, y] = [box / 2, top + box / 2];
  const [outer, inner] = [box / 2 - size - 2, box / 2 - 2 * size - 24];
  const angle = (/** @type {number} */ device) => (2 * Math.PI * device) / n - Math.PI / 2;
  const point = (/** @type {number} */ radius, /** @type {number} */ turn) => `${(x + radius * Math.cos(turn)).toFixed(1)} ${(y + radius * Math.sin(turn)).toFixed(1)}`;
  const arc = (/** @type {number} */ a, /** @type {number} */ b) => `M${point(inner, a)}A${inner} ${inner} 0 0 1 ${point(inner, b)}`;
  const gap = 24 / inner; // from the middle of a tile to its arrow
  const held = run.held[Math.max(0, step - 1)];
  return markup`<circle cx="${x}" cy="${y}" r="${inner}" class="sw-line sw-stroke-rule"/>
<text x="${x}" y="${y - 2}" text-anchor="middle" class="sw-body sw-strong sw-fill-text">${step > 1 ? `hop ${step - 1}` : 'no hop'}</text>
<text x="${x}" y="${y + 18}" text-anchor="middle" class="sw-small sw-fill-muted">${step > 1 ? `of ${n - 1}` : 'yet'}</text>
${held.map((block, device) => {
    const [here, before] = [angle(device), angle(device - 1)];
    const node = point(outer, here);
    return markup`<g ${ask(aboutDevice(run, step, device), `q${device}`)} transform="translate(${node})">${absorbed(run, step, device, size, id)}
<circle r="${size - 10}" class="sw-fill-parameters"/><text y="5" text-anchor="middle" class="sw-small sw-strong sw-on-parameters">Q${device}</text></g>
${step > 1 && markup`<path d="${arc(before + gap, here - gap)}" marker-end="url(#${id}-head)" class="sw-att-way sw-stroke-communication"/>`}
<g ${ask(aboutBlock(run, step, device, block), `kv${block}`)} ${moving ? markup`class="sw-att-rider" style="offset-path:path('${arc(before, here)}')"` : markup`transform="translate(${point(inner, here)})"`}><rect x="-18" y="-10" width="36" height="20" rx="4" class="sw-fill-activations"/>
<text y="5" text-anchor="middle" class="sw-small sw-strong sw-on-activations">KV${block}</text></g>`;
  })}`;
}

/** A ring of P sectors, filled step by step. @param {Run} run @param {number} step @param {number} device @param {number} size @param {string} id */
function absorbed(run, step, device, size, id) {
  const n = run.devices;
  const turn = (/** @type {number} */ i, /** @type {number} */ radius) => {
    const a = (2 * Math.PI * i) / n - Math.PI / 2;
    return `${(radius * Math.cos(a)).toFixed(1)} ${(radius * Math.sin(a)).toFixed(1)}`;
  };
  return run.held.map((row, i) => {
    const kind = i < step ? kindOf(run, device, row[device], step) : 'open';
    return markup`<path d="M${turn(i, size)}A${size} ${size} 0 0 1 ${turn(i + 1, size)}L${turn(i + 1, size - 8)}A${size - 8} ${size - 8} 0 0 0 ${turn(i, size - 8)}z" ${paint(id, kind, i === step - 1)}/>`;
  });
}

/** @param {Run} run @param {number} step @param {{ id: string, box: number, x: number, y: number }} place */
function tiles(run, step, { id, box, x, y }) {
  const n = run.devices;
  const [left, up] = [x + 28, y + 20];
  const size = (box - 28) / n;
  const side = size - 3;
  return markup`${run.pairs.map((row, device) => markup`<text x="${left + (device + 0.5) * size}" y="${y + 12}" text-anchor="middle" class="sw-tiny sw-fill-muted">KV${device}</text>
<text x="${x}" y="${up + (device + 0.5) * size + 4}" class="sw-tiny sw-fill-muted">Q${device}</text>
${row.map((_, block) => {
    const kind = kindOf(run, device, block, step);
    const when = stepOf(run, device, block);
    const rows = shares(run, device, block);
    const shape = kind === 'skipped' ? `M0 0H${side}V${side}H0z` : `M0 0${rows.map((share) => `H${(share * side).toFixed(1)}v${(side / rows.length).toFixed(2)}`).join('')}H0z`;
    const [role] = KINDS[kind];
    return markup`<g ${ask(aboutTile(run, step, device, block), `t${device},${block}`)} transform="translate(${left + block * size + 1.5} ${up + device * size + 1.5})"><rect width="${side}" height="${side}" class="sw-att-tile ${when === step ? 'sw-stroke-text' : 'sw-stroke-rule'}"/>
<path d="${shape}" ${paint(id, kind, when === step)}/>
${role && markup`<rect x="1" y="${side - 15}" width="10" height="14" class="sw-fill-${role}"/>`}<text x="2.5" y="${side - 4}" class="sw-tiny sw-number ${role ? `sw-on-${role}` : 'sw-fill-muted'}">${when}</text></g>`;
  })}`)}`;
}

/** @param {Run} run @param {number} step @param {number} y @param {number} width @param {boolean} narrow */
function sent(run, step, y, width, narrow) {
  const hops = run.devices - 1;
  const part = width / hops;
  const all = sentBy(run, run.devices, 0);
  const now = sentBy(run, step, 0);
  const even = new Set(run.bytes).size === 1;
  return markup`${Array.from({ length: hops }, (_, hop) => markup`<rect ${ask(`Hop ${hop + 1} of ${hops}: each device sends a block of keys and values to its right neighbour, device 0 ${formatBytes(run.bytes[run.held[hop][0]])}. After P − 1 hops all have met; nothing is sent after the last step.`, `h${hop}`)} x="${hop * part + 0.75}" y="${y}" width="${part - 3}" height="12" rx="2" class="${hop < step - 1 ? 'sw-fill-communication' : 'sw-att-unsent sw-stroke-rule'}"/>`)}
<text x="0" y="${y + 30}" class="sw-small sw-number sw-fill-text">${even ? `Each${narrow ? '' : ' device'}` : 'Device 0'} has sent ${formatBytes(now)} of ${formatBytes(all)}</text>
<text x="${narrow ? 0 : width}" y="${y + (narrow ? 50 : 30)}" text-anchor="${narrow ? 'start' : 'end'}" class="sw-small sw-number sw-fill-muted">${even && `(P − 1) · ${formatBytes(run.bytes[0])}, a block`}</text>`;
}

/** The largest logit of a device's last query before and after a step. @param {Run} run @param {number} step @param {number} device */
function maximum(run, step, device) {
  const [before, after] = [run.top[step - 2]?.[device] ?? null, run.top[step - 1]?.[device] ?? null];
  if (after === null) return '';
  const sum = `ℓ = ${digits(run.sums[step - 1][device])}`;
  const name = `Its query at position ${lastPosition(run, device)}:`;
  if (before === null || before === after) return ` ${name} largest logit ${before === after ? 'still ' : ''}m = ${after}, ${sum}.`;
  return ` ${name} largest logit m from ${before} to ${after}, so its sums so far were multiplied by e^(${before} − ${after}) = ${digits(Math.exp(before - after))}; ${sum}.`;
}

/** @param {Run} run @param {number} step @param {number} device */
function aboutDevice(run, step, device) {
  const all = run.pairs[device].reduce((sum, pairs) => sum + pairs, 0);
  const block = run.held[step - 1]?.[device];
  const now = block === undefined ? 'Nothing is absorbed yet.' : run.pairs[device][block] ? `It absorbs KV${block}: ${plural(run.pairs[device][block], 'pair')}.` : `It skips KV${block}: all its keys lie in the future.`;
  return `Device ${device}, queries at ${places(run, device)}. ${now} So far ${pairsIn(run, step, ['done', 'now'], device)} of ${plural(all, 'pair')}.${maximum(run, step, device)}`;
}

/** @param {Run} run @param {number} step @param {number} device @param {number} block */
const aboutBlock = (run, step, device, block) =>
  `KV${block}: keys and values at ${places(run, block)}, ${formatBytes(run.bytes[block])}. It is on device ${device}${step > 1 ? `, came from device ${run.held[step - 2].indexOf(block)}` : ', where it was made'}.`;

/** @param {Run} run @param {number} step @param {number} device @param {number} block */
function aboutTile(run, step, device, block) {
  const kind = kindOf(run, device, block, step);
  const count = tokensOf(run, device) * tokensOf(run, block);
  const what = kind === 'skipped' ? 'skipped, as every key lies in the future' : `${KINDS[kind][1]}, ${run.pairs[device][block]} of ${plural(count, 'pair')}`;
  return `Queries of device ${device} (${places(run, device)}) by keys of block ${block} (${places(run, block)}): step ${stepOf(run, device, block)}, ${what}.`;
}

/** @param {State} state */
function say(state) {
  const [run, step] = at(state);
  const n = run.devices;
  if (!step) return `Start: ${n} devices share ${plural(run.tokens, 'token')}. Each keeps its queries and holds its own block of keys and values.`;
  const block = run.held[step - 1][n - 1];
  const skips = run.held[step - 1].filter((held, device) => !run.pairs[device][held]).length;
  const what = step > 1 ? 'each device gets the block of its left neighbour and absorbs it' : 'each device absorbs its own block';
  const [before, after] = [run.top[step - 2]?.[n - 1] ?? null, run.top[step - 1][n - 1]];
  const shrink = before !== null && after !== null && before !== after &&
    ` Its last query’s largest logit rises from ${before} to ${after}: what it had summed shrinks to ${digits(100 * Math.exp(before - after))} %.`;
  const rest = skips ? ` ${skips} of ${n} skip theirs, which lies in their future.` : '';
  const end = step === n ? ' Every query has met every key that it may see.' : '';
  return `Step ${step} of ${n}: ${what}; device ${n - 1} has KV${block}.${shrink || ''}${rest}${end}`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  name: 'RingAttention',
  className: 'sw-att',
  title: 'Ring attention',
  addressKey: 'attention',
  fields: {
    devices: { kind: 'whole', least: MIN_DEVICES, most: MAX_DEVICES },
    step: { kind: 'whole', least: 0, most: MAX_DEVICES },
    causal: { kind: 'yes' },
    layout: { kind: 'one', of: LAYOUTS },
  },
  data: ['steps', 'runs'],
  // A page brings the runs of every ring that its controls reach; a kernel records the one that is asked for.
  derive: (state) => ({ ...state, steps: state.runs?.[`${state.devices},${Number(state.causal)},${state.layout}`] ?? state.steps }),
  check({ devices, step, steps }) {
    if (step > devices) throw new Error(`${devices} devices have steps 0 to ${devices}, not ${step}`);
    checkRun(steps);
  },
  controls: ({ devices, step, causal, layout, steps: run }) => [
    { kind: 'range', name: 'devices', label: 'Devices', stops: [2, 3, 4, 5, 6, 7, 8], value: devices, text: `${devices}` },
    { kind: 'choice', name: 'layout', label: 'Layout', value: layout, options: LAYOUTS.map((value) => ({ value, text: value })) },
    { kind: 'check', name: 'causal', label: 'causal mask', value: causal },
    { kind: 'stepper', name: 'step', label: 'Step', value: Math.min(step, run.devices), last: run.devices, text: `${Math.min(step, run.devices)} of ${run.devices}` },
  ],
  // Another ring has another number of steps: it begins at its start.
  change: (_state, name, value) => (name === 'devices' ? { devices: value, step: 0 } : { [name]: value }),
  draw,
  say,
  table(state) {
    const [run] = at(state);
    return {
      caption: 'Block and pairs of each device by step, and the largest logit so far of its last query',
      head: ['Step', ...run.pairs.map((_, device) => `Device ${device}`)],
      rows: run.held.map((row, t) => [t + 1, ...row.map((block, device) => `KV${block}, ${run.pairs[device][block]}, ${run.top[t][device] ?? '–'}`)]),
    };
  },
};
