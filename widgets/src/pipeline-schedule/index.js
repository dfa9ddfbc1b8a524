// A pipeline schedule: devices are rows, time runs to the right, and what each device holds is drawn below on the
// same axis. Cells stand in time order, so that a cell is painted over those that it waits for.
import { plural } from '../shared/format.js';
import { axis } from '../shared/plot.js';
import { MUTED, TEXT, entry, headline, mark, open, path, rect, texture, textWidth, ticks, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { given } from './given.js';
import { END, OWN, derive, heldAt, now } from './model.js';

/** @typedef {import('./model.js').State} State */
/** @typedef {import('./model.js').Cell} Cell */
/** @typedef {import('./model.js').Run} Run */

const GAP = 4;

/** A reader's times may be of any size. @param {number} time */
const number = (time) => `${Number(time.toPrecision(5))}`;
/** @param {number} share @param {number} [decimals] */
const percent = (share, decimals = 1) => `${Number((100 * share).toFixed(decimals))}\u00a0%`;
/** @param {number} count */
const inMicrobatches = (count) => plural(count, 'micro-batch', 'micro-batches');
/** @param {Cell} cell */
const label = ({ op, microbatch }) => `${op}${microbatch}`;
/** @param {Cell} cell */
const needs = (cell) =>
  cell.needs.map((need) => fill(given.need, label(need), need.stage, number(need.end))).join(given.and) || given.free;
/** @param {number} start @param {number} end */
const span = (start, end) => fill(given.span, number(start), number(end));
/** The key of a cell's mark. @param {Cell} cell */
const keyOf = (cell) => `${label(cell)}-${cell.stage}`;

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from }) {
  const { run, policy, backward_cost } = state;
  const { rows, makespan, microbatches } = run;
  const narrow = +(width < 560);
  const [left, end, row, top] = narrow ? [28, width - 40, 20, 124] : [76, width - 52, 28, 92];
  const size = narrow ? 'tiny' : 'small';
  const tall = rows.length * (row + GAP);
  const base = top + tall + 4;
  const panel = base + 64;
  const [time, before] = [now(state), now({ ...state, step: from ?? state.step })];
  const x = (/** @type {number} */ at) => left + (at / makespan) * (end - left);
  const y = (/** @type {number} */ stage) => top + stage * (row + GAP);
  const text = (/** @type {number} */ at) => at + row / 2 + 5 - narrow; // where the label of a row stands

  /** The empty row of a device, with a number at its end. @param {number} stage @param {number} at */
  const track = (stage, at) => [
    write(0, text(at), MUTED, fill(given.device[narrow], stage)),
    rect(left, at + 0.75, end - left, row - 1.5, 'line sw-stroke-rule', markup`rx="4"`),
  ];

  /** @param {Cell} cell */
  const drawCell = (cell) => {
    const { op, stage, microbatch, start, end: stop, held, needs: waits } = cell;
    const [role, , , word] = given.legend[op];
    const [at, full] = [x(start), x(stop) - x(start)];
    const grown = Math.max(0, before - start) / (Math.min(stop, time) - start);
    // What a cell is called: as much as there is room for, alike for all of its length.
    const spare = Math.floor((full - 1.9) / textWidth('0', narrow ? 11.81 : 14.17)) - `${microbatches - 1}`.length;
    const name = stop <= time && spare >= 0 && (spare ? label(cell) : microbatch);
    return mark(keyOf(cell), fill(
      given.cell, word, microbatch, stage, span(start, stop), needs(cell), inMicrobatches(held), op === 'B' ? fill(given.then, held - 1) : '',
    ), [
      rect(at + Math.min(0.75, full / 10), y(stage), Math.max(0, x(Math.min(stop, time)) - at - Math.min(1.5, full / 5)), row, '', markup`rx="${Math.min(4, full / 5)}" ${texture(id, role)}`),
      name !== false && write(at + full / 2, text(y(stage)), `${size} sw-number sw-on-${role} sw-stroke-${role}`, name, 'middle'),
    ], markup`class="sw-schedule-cell${grown < 1 && ' sw-schedule-new'}"${grown < 1 && markup` style="--from:${grown}"`} data-needs="${waits.map(keyOf).join(' ')}"`);
  };

  /** What a device holds over time, as high as its share of all micro-batches. @param {number} stage */
  const held = (stage) => {
    const at = y(stage) - top + panel;
    const changes = rows[stage].map(({ op, start, end: stop, held: count }) => (op === 'F' ? [start, count] : [stop, count - 1]));
    /** @param {number} since @param {number} until @param {unknown} [moves] */
    const area = (since, until, moves) => markup`<path d="M${x(since)} ${at + row}${changes.map(([change, count]) =>
      markup`H${x(Math.min(until, Math.max(since, change)))}V${at + row - (count / microbatches) * row}`)}H${x(until)}V${at + row}z" ${texture(id, 'activations')} ${moves}/>`;
    const peak = run.peaks[stage];
    return [track(stage, at), mark(
      `h${stage}`,
      fill(given.holds, stage, inMicrobatches(heldAt(rows[stage], time)), number(time), peak, number(rows[stage].find((cell) => cell.held === peak)?.start ?? 0)),
      [area(0, before), time > before && area(before, time, markup`class="sw-schedule-new" style="--from:0"`), write(width, text(at), `${TEXT} sw-strong`, peak, 'end')],
    )];
  };

  return markup`${open(width, panel + tall, given.label)}
${headline(width, percent(run.bubble), given.share, fill(given.makespan, number(makespan)))}
${Object.values(given.legend).map(([role, letter, word], i) => entry(
    role, letter, i * (narrow ? 92 : 136), top - 48, narrow || i > 1 || policy === OWN ? word : fill(given.cost, word, i ? backward_cost : 1), `${size} sw-fill-muted`,
  ))}
${write(width, top - 8, MUTED, given.idle, 'end')}
${rows.map((_, stage) => [
    track(stage, y(stage)),
    run.gaps[stage].filter(([start]) => start < time).map(([start, stop, next]) => mark(
      `i${stage}-${start}`, fill(given.gap, stage, span(start, stop), next ? fill(given.why, label(next), needs(next)) : ''),
      rect(x(start), y(stage), x(Math.min(stop, time)) - x(start), row, '', texture(id, 'idle')),
    )),
    mark(`p${stage}`, fill(given.idles, stage, number(run.idle[stage]), number(makespan)), write(width, text(y(stage)), TEXT, percent(run.idle[stage] / makespan, 0), 'end')),
  ])}
${run.cells.filter(({ start, end: stop }) => start < time || stop <= time).map(drawCell)}
${path(`M${left} ${base}H${end}`)}${axis(ticks(makespan, narrow ? 4 : 8), x, base, number)}
${entry('activations', 'A', 0, panel - 32, fill(given.flight[narrow], microbatches), TEXT)}${write(width, panel - 17, MUTED, given.peak, 'end')}
${rows.map((_, stage) => held(stage))}
${time < makespan && [
    path(markup`M${x(time)} ${top - 4}V${base}M${x(time)} ${panel - 4}v${tall}`, 'line sw-stroke-text sw-schedule-now', markup`style="--from:${x(before) - x(time)}px"`),
    write(x(time), top - 8, `${TEXT} sw-strong`, number(time), 'middle'),
  ]}
</svg>`;
}

/** @param {State} state */
function say(state) {
  const { run, policy, stages, step } = state;
  const [time, last] = [now(state), stages - 1];
  if (step < run.times.length) {
    const ended = run.rows.flat().filter(({ end }) => end === time).map((cell) => fill(given.onDevice, label(cell), cell.stage)).join(', ');
    return fill(given.step, number(time), number(run.makespan), step ? fill(given.ended, ended) : given.nothing, inMicrobatches(heldAt(run.rows[0], time)));
  }
  return fill(
    given.whole, given.names[/** @type {keyof typeof given.names} */ (policy)], plural(stages, 'stage'), inMicrobatches(run.microbatches),
    number(run.makespan), percent(run.bubble), run.peaks[0], last ? fill(given.last, last, run.peaks[last]) : '',
  );
}

/** What each device does between one step and the next. @param {State} state */
function table({ run }) {
  return {
    caption: given.caption,
    head: [given.head, ...run.rows.map((_, stage) => fill(given.row, stage))],
    rows: [
      ...run.times.map((to, i) => {
        const from = i && run.times[i - 1];
        return [`${number(from)}–${number(to)}`, ...run.rows.map((row) =>
          row.filter(({ start, end }) => start < to && end > from).map(label).join(' ') || '–')];
      }),
      [given.idleRow, ...run.idle.map(number)],
      [given.heldRow, ...run.peaks],
    ],
  };
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  derive(traits) {
    if (traits.policy === OWN && !traits.cells?.length) throw new Error(given.noCells);
    return derive(traits);
  },
  show: (state) => ({
    policy: { options: given.controls[0].options.slice(0, state.cells?.length ? 3 : 2) },
    step: { last: state.run.times.length, text: fill(given.of, number(now(state)), number(state.run.makespan)) },
  }),
  // Whoever sees a whole schedule sees the next one whole too. One's own has no other size: for that, ours comes in.
  change: ({ policy, stages, microbatches, step, run }, name, value) => name === 'step' ? { step: value } : {
    policy: policy === OWN ? 'gpipe' : policy, stages, microbatches, ...(step === run.times.length && { step: END }), [name]: value,
  },
  draw,
  say,
  // The pipeline fills until its last device has work.
  phase: (state) => `${Math.sign(now(state) - state.run.rows[state.stages - 1][0].start)}`,
  table,
};
