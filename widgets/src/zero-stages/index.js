// The stages of ZeRO: who holds what, what a stage leaves on a device, and the collectives of one step.
import { digits, formatBytes, formatCount, plural, whole } from '../shared/format.js';
import { MUTED, TEXT, headline, mark, open, rect, swatch, texture, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { given } from './given.js';
import { drawn, isSlice, kept, saving, sentBytes } from './model.js';

/** @typedef {import('./model.js').State} State */

const ROW = 24;
const ROUND = markup`rx="4"`;

const times = (/** @type {number} */ factor) => `${digits(factor)}×`;

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from }) {
  const { devices: n, step } = state;
  const narrow = +(width < 560);
  const left = narrow ? 40 : 80;
  const rows = drawn(n);
  const top = narrow ? 96 : 72;
  const legend = top + rows.length * ROW + 16;
  const bytes = kept(state);
  const total = formatBytes(bytes.total);
  const unit = (width - left - (narrow ? 68 : 84)) / 16;
  const size = narrow ? 'tiny' : 'small';
  /** Where a whole copy of a part is drawn. @param {number} i */
  const x = (i) => left + i * (2 * unit + 4);

  /** @param {number | null} device @param {number} y */
  const deviceRow = (device, y) => device === null ? write(left, y + 15, MUTED, fill(given.more, whole(n - 4))) : [
    write(0, y + 15, MUTED, fill(given.device[narrow], device)),
    given.parts.map(([part, role, , name, each], i) => {
      const [split, wide] = [isSlice(state, part), each * unit];
      const slice = split ? Math.max(wide / n, 1.5) : wide; // thinner, and nobody would see it
      const at = split ? Math.min((wide * device) / n, wide - slice) : 0;
      /** @param {string} look @param {unknown} [more] */
      const box = (look, more) => rect(x(i), y, wide, 20, look, more);
      return [
        mark(part + device, fill(
          given.part, device, name, split ? fill(given.slice, device + 1, whole(n)) : given.whole, each, split ? '/N' : '', formatBytes(bytes[part]),
        ), [box('zero-box sw-stroke-rule'), rect(x(i) + at, y, slice, 20, '', texture(id, role))]),
        split && from !== undefined && !isSlice(state, part, from) &&
          box(`zero-shrink sw-fill-${role}`, markup`style="--k:calc(1/${n});transform-origin:${x(i) + (wide * device) / (n - 1)}px 0"`),
      ];
    }),
    mark(`sum${device}`, fill(given.sum, device, given.formulas[step], total), write(width, y + 15, TEXT, total, 'end')),
  ];

  /** What a stage leaves on a device. @param {string} formula @param {number} stage */
  const stageCell = (formula, stage) => {
    const [cell, y] = [(width + 4) / 4, legend + 128];
    const at = stage * cell + (narrow ? 4 : 8);
    const [size0, less] = [formatBytes(kept(state, stage).total), times(saving(state, stage))];
    return mark(`stage${stage}`, fill(given.cell, stage, formula, size0, less, formatBytes(sentBytes(state, stage))), [
      rect(stage * cell + 0.75, y, cell - 5.5, 68, `zero-box sw-stroke-${stage === step ? 'text' : 'rule'}`, ROUND),
      write(at, y + 19, MUTED, fill(given.stage, stage)), write(at, y + 39, `${narrow ? 'tiny' : 'body'} sw-number sw-fill-text`, size0),
      write(at, y + 58, `${size} sw-number sw-fill-muted`, narrow ? less : formula), !narrow && write(at + cell - 20, y + 19, MUTED, less, 'end'),
    ]);
  };

  const start = narrow ? 24 : left;
  const time = legend + 216;
  return markup`${open(width, legend + 356, given.label)}
${headline(width, total, given.unit[narrow], n < 2 ? given.alone : step ? fill(given.less[narrow], times(saving(state))) : fill(given.same, whole(n)))}
${rows.map((device, i) => deviceRow(device, top + i * ROW))}
${given.parts.map(([part, role, letter, name, each], i) => {
    const [y, size0] = [legend + i * 28, formatBytes(bytes[part])];
    const share = fill(given.share, each, isSlice(state, part) ? `1/${whole(n)}` : given.copy);
    return [
      swatch(role, letter, x(i), top - 28), swatch(role, letter, 0, y),
      mark(part, fill(given.about, name, share, size0), [
        write(28, y + 15, 'body sw-fill-text', name), !narrow && write(180, y + 15, MUTED, share), write(width, y + 15, 'body sw-number sw-fill-text', size0, 'end'),
      ]),
      i < 2 && swatch(role, letter, 0, time + 62 + i * 44),
    ];
  })}
${write(0, legend + 120, MUTED, given.leaves)}${given.formulas.map(stageCell)}
${write(0, time + 12, MUTED, given.step)}${write(width, time + 12, TEXT, fill(given.sends, formatBytes(sentBytes(state))), 'end')}
${given.steps[step].map(([begin, long, down, role, name, does, trips]) => {
    const [at, y] = [start + (begin * (width - start)) / 7, time + down];
    const sent = formatBytes(sentBytes(state, step, trips));
    return mark(name + begin, name + fill(does, sent), [
      rect(at, y, (long * (width - start)) / 7 - 4, trips ? 40 : 28, `zero-phase sw-fill-${role}`, ROUND),
      [name, trips > 0 && fill(given.arrow[narrow], sent)].map((line, i) => line && write(at + (narrow ? 4 : 8), y + 18 + i * 16, `${size} sw-number sw-on-${role}`, line)),
    ]);
  })}
</svg>`;
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  show: ({ params }) => ({ params: { text: formatCount(params) } }),
  draw,
  say: (state) => fill(
    given.said, state.step, given.says[state.step], formatCount(state.params), plural(state.devices, 'device'),
    given.formulas[state.step], formatBytes(kept(state).total), formatBytes(sentBytes(state)),
  ),
  phase: ({ step }) => `${step}`,
  table: (state) => ({
    caption: fill(given.caption, formatCount(state.params), plural(state.devices, 'device')),
    head: given.head,
    rows: given.formulas.map((_, stage) =>
      [stage, ...Object.values(kept(state, stage)).map(formatBytes), times(saving(state, stage)), formatBytes(sentBytes(state, stage))]),
  }),
};
