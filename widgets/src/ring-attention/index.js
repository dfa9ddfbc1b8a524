// A recorded ring attention: devices stand on a circle with their queries, blocks of keys and values travel inside
// it, and the picture of all queries by all keys shows which tiles of the attention matrix that has done.
import { compact, digits, formatBytes, whole } from '../shared/format.js';
import { MUTED, STRONG, TEXT, circle, headline, mark, open, path, rect, texture, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { key } from '../causal-balance/legend.js';
import { runsOf, spell } from '../causal-balance/model.js';
import { given } from './given.js';
import { kindOf, pairsIn, sentBy, shares, stepOf } from './model.js';

/** @typedef {import('./model.js').Run} Run */
/** @typedef {import('./model.js').Kind} Kind */
/** @typedef {{ devices: number, step: number, causal: boolean, layout: string, steps: Run, runs?: Record<string, Run> }} State */

/** @type {Kind[]} */
const DONE = ['done', 'now'];

/** @param {string} id @param {Kind} kind @param {boolean} [fresh] */
const paint = (id, kind, fresh) => {
  const [role] = given.kinds[kind];
  return role ? markup`${texture(id, role)}${fresh && markup` class="sw-att-new"`}` : markup`class="sw-att-open"`;
};

/** A number of pairs; a reader's own run may have millions. @param {number} count */
const big = (count) => (count < 1e5 ? whole(count) : compact(count));

/** @param {Run} run @param {number} device */
const places = ({ layout, devices, tokens }, device) => fill(given.places, spell(runsOf(layout, devices, tokens, device)));

/** What becomes of the running maximum of a device's last query. @param {Run} run @param {number} step @param {number} device */
function maximum({ top, sums, ids }, step, device) {
  const [before, after] = [step - 2, step - 1].map((t) => top[t]?.[device] ?? null);
  if (after === null) return '';
  const shrink = before !== null && after > before ? fill(given.shrink, before, digits(Math.exp(before - after))) : '';
  return fill(given.maximum, ids[device].at(-1), after, shrink, digits(sums[step - 1][device])).replaceAll(' -', ' −');
}

/** A point on a circle around 0, in turns from its top. @param {number} radius @param {number} turn */
const point = (radius, turn) => markup`${radius * Math.sin(2 * Math.PI * turn)} ${-radius * Math.cos(2 * Math.PI * turn)}`;
/** @param {number} radius @param {number} from @param {number} to */
const arc = (radius, from, to) => markup`${point(radius, from)}A${radius} ${radius} 0 0 1 ${point(radius, to)}`;
/** @param {unknown} x @param {unknown} y */
const at = (x, y) => markup`transform="translate(${x} ${y})"`;

/** @param {Run} run @param {number} step @param {string} id @param {number} box @param {number} top @param {boolean} moving */
function ring(run, step, id, box, top, moving) {
  const n = run.devices;
  const size = box < 300 ? 24 : 28;
  const inner = box / 2 - 2 * size - 24;
  const gap = 4 / inner; // in turns, from the middle of a tile to its arrow
  const [hop, hops] = step > 1 ? given.hop : given.noHop;
  return markup`<g ${at(box / 2, top + box / 2)}>${circle(0, 0, inner, 'att-open')}
${write(0, -2, STRONG, fill(hop, step - 1), 'middle')}${write(0, 18, MUTED, fill(hops, n - 1), 'middle')}
${run.held[Math.max(0, step - 1)].map((block, device) => {
    const [here, before] = [device / n, (device - 1) / n];
    const does = !step ? given.idle : fill(run.pairs[device][block] ? given.absorbs : given.skips, block);
    return [
      mark(`q${device}`, fill(
        given.device, device, places(run, device), does, pairsIn(run, step, DONE, device), pairsIn(run, n, DONE, device), maximum(run, step, device),
      ), [
        run.held.map((row, i) => markup`<path d="M0 0L${arc(size, i / n, (i + 1) / n)}z" ${paint(id, i < step ? kindOf(run, device, row[device], step) : 'open', i === step - 1)}/>`),
        circle(0, 0, size - 9, 'att-queries'), write(0, 5, 'small sw-strong sw-on-parameters', `Q${device}`, 'middle'),
      ], markup`transform="translate(${point(box / 2 - size - 2, here)})"`),
      step > 1 && path(markup`M${arc(inner, before + gap, here - gap)}`, 'att-way', markup`marker-end="url(#${id}-head)"`),
      mark(`kv${block}`, fill(
        given.block, block, places(run, block), formatBytes(run.bytes[block]), device, step > 1 ? fill(given.from, run.held[step - 2].indexOf(block)) : '',
      ), [
        rect(-18, -10, 36, 20, 'fill-activations', markup`rx="4"`), write(0, 5, 'small sw-strong sw-on-activations', `KV${block}`, 'middle'),
      ], moving ? markup`class="sw-att-rider" style="offset-path:path('M${arc(inner, before, here)}')"` : markup`transform="translate(${point(inner, here)})"`),
    ];
  })}</g>`;
}

/** @param {Run} run @param {number} step @param {string} id @param {number} box @param {number} x @param {number} y */
function tiles(run, step, id, box, x, y) {
  const size = (box - 28) / run.devices;
  const side = size - 3;
  return run.pairs.map((row, device) => [
    write(x + 28 + (device + 0.5) * size, y + 12, 'tiny sw-fill-muted', `KV${device}`, 'middle'), write(x, y + 24 + (device + 0.5) * size, 'tiny sw-fill-muted', `Q${device}`),
    row.map((pairs, block) => {
      const [kind, when, rows] = [kindOf(run, device, block, step), stepOf(run, device, block), shares(run, device, block)];
      const [role, name] = given.kinds[kind];
      return mark(`t${device},${block}`, fill(
        given.tile, device, places(run, device), block, places(run, block), when, name, pairs, run.ids[device].length * run.ids[block].length, run.causal ? given.mask : '',
      ), [
        rect(0, 0, side, side, `att-tile sw-stroke-${when === step ? 'text' : 'rule'}`),
        markup`<path d="M0 0${rows.map((share) => markup`H${share * side}v${side / rows.length}`)}H0z" ${paint(id, kind, when === step)}/>`,
        role && rect(1, side - 15, 10, 14, `fill-${role}`), write(2.5, side - 4, `tiny sw-number ${role ? `sw-on-${role}` : 'sw-fill-muted'}`, when),
      ], at(x + 29.5 + block * size, y + 21.5 + device * size));
    }),
  ]);
}

/** @param {Run} run @param {number} step */
function verdict({ devices, error, held, pairs }, step) {
  if (step === devices) return fill(given.error, error.toExponential(1));
  return step ? fill(given.busiest, big(Math.max(...held[step - 1].map((block, device) => pairs[device][block])))) : given.nothing;
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw({ steps: run, step }, { width, id, from }) {
  const narrow = width < 560;
  const top = narrow ? 84 : 64;
  const box = narrow ? width : (width - 32) / 2;
  const [left, up] = narrow ? [0, top + box + 40] : [box + 32, top];
  const below = up + box + 28;
  const bytes = below + (narrow ? 56 : 32);
  const moving = from !== undefined && step > 1;
  const n = run.devices;
  const visible = pairsIn(run, n, DONE);
  const part = (width + 4) / (n - 1);
  return markup`${open(width, bytes + (narrow ? 56 : 36), given.label, moving && 'sw-att-moving')}
${headline(width, `${digits((100 * pairsIn(run, step, DONE)) / visible)} %`, fill(given.share, big(visible)), verdict(run, step))}
${write(0, top - 8, MUTED, given.ring)}${ring(run, step, id, box, top, moving)}
${write(left, up - 8, MUTED, given.matrix)}${tiles(run, step, id, box, left, up)}
${/** @type {Kind[]} */ (Object.keys(given.kinds)).map((kind, i) => key(
    narrow ? (i % 2) * (width / 2) : (i * width) / 4, narrow && i > 1 ? below + 24 : below, paint(id, kind),
    markup`${i > 2 && !narrow && given.tiles}${given.kinds[kind][1]} <tspan class="sw-fill-text">${i > 2 ? run.pairs.flat().filter((pairs) => !pairs).length : big(pairsIn(run, step, [kind]))}</tspan>`,
  ))}
${run.held.slice(1).map((_, hop) => mark(`h${hop}`, fill(given.hops, hop + 1, n - 1, formatBytes(run.bytes[run.held[hop][0]])), rect(
    hop * part + 1, bytes, part - 6, 12, hop < step - 1 ? 'fill-communication' : 'att-open', markup`rx="2"`,
  )))}
${write(0, bytes + 30, TEXT, fill(given.sent, given.who[+(new Set(run.bytes).size > 1)], formatBytes(sentBy(run, step, 0)), formatBytes(sentBy(run, n, 0))))}
${narrow ? write(0, bytes + 50, MUTED, given.blocks) : write(width, bytes + 30, MUTED, given.blocks, 'end')}
</svg>`;
}

/** @param {State} state */
function say({ steps: run, step }) {
  const n = run.devices;
  if (!step) return fill(given.start, n, run.tokens);
  const skips = run.held[step - 1].filter((block, device) => !run.pairs[device][block]).length;
  return fill(given.step, step, n, given.gets[+(step > 1)], skips ? fill(given.skipping, skips) : '', maximum(run, step, n - 1), step === n ? given.end : '');
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  // A page brings the runs of every ring that its controls reach; a kernel records the one that is asked for, and
  // until it has, the old one stands.
  derive(state) {
    const { devices, step, causal, layout, runs } = state;
    if (step > devices) throw new Error(fill(given.noStep, devices, devices, step));
    const steps = runs?.[`${devices},${+causal},${layout}`] ?? state.steps;
    return { ...state, steps, step: Math.min(step, steps.devices) };
  },
  show: ({ step, steps }) => ({ step: { last: steps.devices, text: fill(given.of, step, steps.devices) } }),
  // Another ring has another number of steps: it begins at its start.
  change: (_state, name, value) => (name === 'devices' ? { devices: value, step: 0 } : { [name]: value }),
  draw,
  say,
  table: ({ steps: { pairs, held, top } }) => ({
    caption: given.caption,
    head: [given.head[0], ...pairs.map((_, device) => fill(given.head[1], device))],
    rows: held.map((row, t) => [t + 1, ...row.map((block, device) => fill(given.cell, block, pairs[device][block], top[t][device] ?? '–'))]),
  }),
};
