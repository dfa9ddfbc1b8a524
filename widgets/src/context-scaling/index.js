// Context against devices: what one device holds of the sequence, how long that makes it, and what it costs in time.
import { ask } from '../shared/ask.js';
import { compact, digits, duration, formatBytes, plural, unitOf, whole } from '../shared/format.js';
import { MUTED, circle, headline, mark, open, path, rect, swatch, texture, ticks, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { inOrder } from '../pipeline-bubble/model.js';
import { given } from './given.js';
import { MAX_DEVICES, block, divisors, hidingBlock, link, parts, seconds, tokenBytes } from './model.js';

/** @typedef {import('./model.js').State} State */

const PLOT = 96; // height of a panel

/** @param {State} state */
function verdict(state) {
  const [compute, , waiting] = seconds(state);
  if (!block(state)) return given.noRoom;
  if (state.devices === 1) return given.alone;
  if (block(state) < hidingBlock(state)) return fill(given.waits, digits((100 * waiting) / (compute + waiting)));
  return given.hidden[+(state.layers > 0)];
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const { devices, layers, hardware } = state;
  const narrow = +(width < 560);
  const [tokens, each, kinds] = [block(state), tokenBytes(state), Object.entries(parts(state))];
  const top = narrow ? 88 : 64;
  const first = top + (narrow ? kinds.length * 24 + 68 : 116);
  const second = first + PLOT + 44;
  const height = second + PLOT + (narrow ? 120 : 84);
  const x = (/** @type {number} */ count) => 8 + ((width - 16) * count) / MAX_DEVICES;
  const all = Array.from({ length: MAX_DEVICES }, (_, i) => seconds({ ...state, devices: i + 1 }));
  const slowest = Math.max(...all.map(([work, send, wait]) => Math.max(work + wait, send))) || 1;
  const now = all[devices - 1];

  /** What roles stand for, with a number each: columns, or rows where there is little room. @param {readonly (readonly string[])[]} entries @param {string[]} values @param {number} y */
  const legend = (entries, values, y) => entries.map(([role, letter, name], i) => {
    const [left, up] = narrow ? [0, y + i * 24] : [(i * width) / 5, y];
    return [
      swatch(role, letter, left, up), write(left + 28, up + 15, 'small sw-fill-text', name),
      narrow ? write(width, up + 15, MUTED, values[i], 'end') : write(left + 28, up + 35, MUTED, values[i]),
    ];
  });

  /** A panel above its base: heading, grid, lines, and a column to ask at each number of devices, which says a value and a text.
   * @param {number} y @param {number} base @param {[string, string]} heads @param {number} end @param {number} unit @param {(value: number) => string} label
   * @param {(level: (value: number) => number) => unknown} lines @param {(devices: number) => [number, string]} at */
  const panel = (y, base, heads, end, unit, label, lines, at) => {
    const level = (/** @type {number} */ value) => base - (PLOT * value) / end;
    return [
      write(0, y, MUTED, heads[0]), write(width, y, 'small sw-strong sw-number sw-fill-text', heads[1], 'end'),
      ticks(end / unit, 3).map((n) => [path(markup`M0 ${level(n * unit)}H${width}`), n > 0 && write(0, level(n * unit) + 14, 'tiny sw-number sw-fill-muted', label(n * unit))]),
      lines(level), path(markup`M${x(devices)} ${base - PLOT}v${PLOT}`, 'line sw-stroke-muted'),
      [...new Set([...given.marked, devices])].map((p) => {
        const [value, text] = at(p);
        return mark(heads[0][0] + p, fill(given.point, plural(p, 'device'), text), [
          rect(x(p) - 6, base - PLOT, 12, PLOT, 'context-hit'), circle(x(p), level(value), p === devices ? 5 : 2.5, 'fill-text'),
        ]);
      }),
    ];
  };
  /** The way of a value over all numbers of devices. @param {(value: number) => number} level @param {(seconds: number[]) => number} of */
  const way = (level, of) => all.map((one, i) => markup`L${x(i + 1)} ${level(of(one))}`);
  const line = (/** @type {unknown[]} */ points, /** @type {string} */ look) => path(markup`${points}`.text.replace('L', 'M'), `context-line sw-${look}`);

  let at = 0;
  return markup`${open(width, height, given.label)}
${headline(width, fill(given.tokens, compact(devices * tokens)), fill(given.on, width < 600 ? devices : plural(devices, 'device')), verdict(state))}
${write(0, top - 8, MUTED, fill(given.holds[narrow], layers ? fill(given.training, plural(layers, 'layer')) : given.pass))}
${write(width, top - 8, MUTED, fill(given.each, compact(tokens), formatBytes(each)), 'end')}
${kinds.map(([kind, bytes]) => {
    const [role, , name, what] = given.parts[kind];
    const [left, wide] = [at, tokens && (width * bytes) / each];
    at += wide;
    return rect(left, top, Math.max(wide, 1), 32, 'context-part', markup`${texture(id, role)} ${ask(fill(given.part, name, what, whole(bytes), formatBytes(bytes * tokens), whole(tokens)), kind)}`);
  })}
${legend(kinds.map(([kind]) => given.parts[kind]), kinds.map(([, bytes]) => formatBytes(bytes * tokens)), top + 44)}
${panel(
    first, first + 12 + PLOT, [given.context, fill(given.product[narrow], devices, narrow ? compact(tokens) : whole(tokens), whole(devices * tokens))],
    MAX_DEVICES * Math.max(1, tokens), 1, compact,
    (level) => line([0, MAX_DEVICES].map((p) => markup`L${x(p)} ${level(p * tokens)}`), 'stroke-text'),
    (p) => [p * tokens, fill(given.ofContext, p, whole(tokens), whole(p * tokens))],
  )}
${legend(given.times, now.map(duration), second + 12)}
${panel(
    second, height - 24, [fill(given.layer[narrow], hardware[0]), duration(now[0] + now[2])], slowest, unitOf(slowest)[0], duration,
    (level) => [
      markup`<path d="${markup`${[...way(level, ([work, , wait]) => work + wait), ...way(level, ([work]) => work).reverse()]}`.text.replace('L', 'M')}" ${texture(id, 'idle')}/>`,
      line(way(level, ([, send]) => send), 'context-sent sw-stroke-communication'), line(way(level, ([work]) => work), 'stroke-parameters'),
    ],
    (p) => {
      const [work, , wait] = all[p - 1];
      return [work + wait, fill(given.ofTime, ...all[p - 1].map(duration), digits(link({ ...state, devices: p })[1] / 1e9))];
    },
  )}
${given.numbers[narrow].map((p) => write(x(p), height - 4, MUTED, p, 'middle'))}${write(width, height - 4, MUTED, plural(MAX_DEVICES, 'device'), 'end')}
</svg>`;
}

/** @param {State} state */
function say(state) {
  const { devices, layers } = state;
  const tokens = block(state);
  return fill(
    given.said, plural(devices, 'device'), whole(tokens), whole(tokens * devices), layers ? given.passes : '', ...seconds(state).map(duration), whole(hidingBlock(state)),
  );
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  check({ heads, kv_heads: kv }) {
    if (heads % kv) throw new Error(fill(given.indivisible, heads, kv));
  },
  show: ({ memory, heads, layers }) => ({
    memory: { text: formatBytes(memory * 1e9) },
    kv_heads: { stops: divisors(heads) },
    ...(!layers && { layers: { text: given.none } }),
  }),
  change: ({ kv_heads: kv }, name, value) => (name === 'heads' ? { heads: value, kv_heads: divisors(value).findLast((k) => k <= kv) } : { [name]: value }),
  draw,
  say,
  table: (state) => ({
    caption: fill(given.caption, whole(block(state)), whole(tokenBytes(state)), Object.entries(parts(state)).map(([kind, bytes]) =>
      `${given.parts[kind][2]} ${whole(bytes)}`).join(', ')),
    head: given.head,
    rows: inOrder([...given.controls[0].stops, state.devices]).map((devices) =>
      [devices, whole(devices * block(state)), ...seconds({ ...state, devices }).map(duration)]),
  }),
};
