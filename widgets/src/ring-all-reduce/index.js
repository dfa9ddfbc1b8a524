// A recorded ring all-reduce, step by step: devices are rows, chunks are columns, and what travels goes down
// its column to the row below, or from the last row around to the first.
import { formatBytes } from '../shared/format.js';
import { MUTED, TEXT, mark, open, path as stroke, rect, sizeFor, texture, textWidth, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { given } from './given.js';
import { bytesInAll, doneCells, gridAfter, isRun, lastStep, phaseAfter, sentBy } from './model.js';

/** @typedef {import('./model.js').Run} Run */
/** @typedef {import('./model.js').Cell} Cell */
/** @typedef {import('./model.js').Transfer} Transfer */
/** @typedef {{ devices: number, step: number, steps: Run, runs?: Record<string, Run> }} State */

const HEADER = 80;
const CELL = 40;
const PITCH = 68;

/** @param {State} state */
const stepOf = ({ step, steps }) => Math.min(step, steps.steps.length);

/** Where things are. @param {number} n @param {number} width */
function layout(n, width) {
  const narrow = +(width < 560);
  const left = narrow ? 28 : 80;
  const pitch = Math.min(160, (width - left - 24) / n);
  const cell = pitch - (narrow ? 4 : 8);
  const x = (/** @type {number} */ chunk) => left + chunk * pitch;
  const y = (/** @type {number} */ device) => HEADER + device * PITCH;
  /** The way of a message: from the lower edge of its cell to the upper edge of the next one.
   * @param {Transfer} sent @param {number} [inset] how far from the edges */
  const way = ([source, destination, chunk], inset = 3) => {
    const middle = x(chunk) + cell / 2;
    const [start, end] = [y(source) + CELL, y(destination) - inset];
    return `M${middle} ${start + inset}${destination ? '' : `V${start + 16}H${x(n) + 8}V${HEADER - 18}H${middle}`}V${end}`;
  };
  return { n, narrow, cell, x, y, way };
}

/** @typedef {ReturnType<typeof layout>} Layout */

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id, from }) {
  const [run, step] = [state.steps, stepOf(state)];
  const place = layout(run.devices, width);
  const { n, narrow, x, y, cell } = place;
  const [grid, before] = [gridAfter(run, step), gridAfter(run, Math.max(0, step - 1))];
  const transfers = run.steps[step - 1]?.transfers ?? [];
  const moving = from !== undefined;
  const legend = y(n) + 8;
  const bar = legend + (narrow ? 64 : 36);
  const height = bar + (narrow ? 56 : 36);
  const half = n - 1;
  return markup`${open(width, height, given.label, moving && 'sw-ring-moving')}
${write(0, 18, 'body sw-strong sw-fill-text', step ? fill(given.half[narrow][+(step > half)], step > half ? step - half : step, half) : given.start[narrow])}
${!narrow && write(width, 18, 'body sw-fill-muted', fill(given.finished, doneCells(grid), n * n), 'end')}
${grid.map((_, i) => [
    write(x(i) + cell / 2, 52, MUTED, fill(given.chunk[narrow], i), 'middle'),
    write(0, y(i) + 25, MUTED, fill(given.device[narrow], i)),
  ])}
${transfers.map((sent) => arrow(sent, place, id))}
${grid.map((row, device) => row.map((now, chunk) => {
    const sent = transfers.find(([, to, which]) => to === device && which === chunk);
    return drawCell({ run, device, chunk, now, before: before[device][chunk], sent }, place, id);
  }))}
${moving && transfers.map((sent) => rider(sent, place))}
${[0, 1, 2].map((i) => part(i * 7, legend + 12, 5.5, i < 2))}${write(28, legend + 11, MUTED, given.marks)}
<g transform="translate(${narrow ? '0 24' : '272 0'})">${rect(1, legend - 1, 20, 14, 'ring-done sw-stroke-text', markup`rx="4" ${texture(id, 'optimizer')}`)}${write(28, legend + 11, MUTED, given.ringed)}</g>
${run.steps.map((_, i) => mark(`step${i}`, fill(given.sends, i + 1, phaseAfter(run, i + 1), sent(run, i + 1)), rect(
    (i * width) / 2 / half + 0.75, bar, width / 2 / half - 3, 12, i < step ? 'fill-communication' : 'ring-open sw-stroke-rule', markup`rx="4"`,
  )))}
${write(0, bar + 32, TEXT, sent(run, step))}
${write(narrow ? 0 : width, bar + (narrow ? 52 : 32), MUTED, fill(given.formula, formatBytes(run.bytes)), !narrow && 'end')}
</svg>`;
}

/** Everyone's bytes, unless the chunks differ in size. @param {Run} run @param {number} step */
const sent = (run, step) =>
  fill(
    given.sent, given.who[+run.start.every((_, device) => sentBy(run, run.steps.length, device) === bytesInAll(run))],
    formatBytes(sentBy(run, step, 0)), formatBytes(sentBy(run, run.steps.length, 0)),
  );

/** A mark for a device, whose share is in a sum or not. @param {number} x @param {number} bottom @param {number} width @param {boolean} there */
const part = (x, bottom, width, there) =>
  rect(x, bottom - (there ? 5 : 1.5), width, there ? 5 : 1.5, `fill-${there ? 'gradients' : 'rule'}`);

/** @param {Transfer} message @param {Layout} place @param {string} id */
function arrow(message, { n, cell, x, y, way }, id) {
  const [source, destination, chunk, bytes, value, sum] = message;
  const right = chunk < n - 1;
  const [path, adds] = [way(message), sum !== undefined];
  return mark(`way${source}`, fill(given.message, source, chunk, value, formatBytes(bytes), destination, adds ? fill(given.adds, sum) : given.copies), [
    stroke(path, 'hit'), stroke(path, 'ring-way sw-stroke-communication', markup`marker-end="url(#${id}-head)"`),
    cell > 52 && destination > 0 && write(x(chunk) + cell / 2 + (right ? 8 : -8), y(source) + CELL + 19, TEXT, `${adds ? '+' : '='}${value}`, !right && 'end'),
  ]);
}

/** The chunk on its way. @param {Transfer} message @param {Layout} place */
function rider(message, { cell, way }) {
  const width = Math.min(cell, 48);
  const look = sizeFor(message[4], width);
  return markup`<g class="sw-ring-rider" style="offset-path:path('${way(message, -CELL / 2)}')">${rect(-width / 2, -12, width, 24, 'fill-communication', markup`rx="4"`)}${look && write(0, 5, `${look} sw-on-communication`, message[4], 'middle')}</g>`;
}

/** @param {{ run: Run, device: number, chunk: number, now: Cell, before: Cell, sent?: Transfer }} about @param {Layout} place @param {string} id */
function drawCell({ run, device, chunk, now, before, sent }, place, id) {
  const { n, cell: width } = place;
  const [x, y] = [place.x(chunk), place.y(device)];
  const plate = Math.min(width - 6, textWidth(String(now.value), 17) + 8);
  const number = (/** @type {Cell} */ { value }, /** @type {string} */ look) => {
    const size = sizeFor(value, width);
    return size && write(x + width / 2, y + (now.done ? 26 : 24), `${size} ${look}`, value, 'middle');
  };
  const whose = now.done ? given.done : now.from.length > 1 ? fill(given.sum, now.from.join(', ')) : given.own;
  const how = !sent ? '' : now.from === before.from || sent[5] === undefined ? fill(given.copied, sent[0]) : fill(given.added, sent[4], before.value);
  const size = formatBytes(run.steps[0].transfers.find(([, , which]) => which === chunk)?.[3] ?? 0);
  const text = fill(given.cell, device, chunk, now.value, how, whose, now.text ? `; ${now.text}` : '', now.spent ? given.spent : '', size);
  return mark(`cell${device}-${chunk}`, text, markup`${rect(
    x, y, width, CELL, now.done ? 'ring-done sw-stroke-text' : `ring-open sw-stroke-${sent ? 'communication' : 'rule'}`, markup`rx="4" ${now.done && texture(id, 'optimizer')}`,
  )}
${now.done ? rect(x + (width - plate) / 2, y + 8, plate, 24, 'fill-optimizer', markup`rx="4"`) : run.start.map((_, i) => part(x + 4 + (i * (width - 8)) / n, y + 36, (width - 8) / n - 1.5, now.from.includes(i)))}
${number(now, `${now.done ? 'sw-strong sw-on-optimizer' : `sw-fill-${now.spent ? 'muted' : 'text'}`}${sent ? ' sw-ring-after' : ''}`)}${sent && !now.done && number(before, 'sw-fill-muted sw-ring-before')}`);
}

/** @param {State} state */
function say(state) {
  const [run, step] = [state.steps, stepOf(state)];
  if (!step) return fill(given.begin, run.devices, run.devices, run.texts ? given.shown : '', sent(run, step));
  const [source, destination, chunk, , value, sum] = run.steps[step - 1].transfers[0];
  return fill(
    given.said, step, run.steps.length, phaseAfter(run, step), sum === undefined ? given.copies : given.addsIt, source, chunk, value, destination,
    doneCells(gridAfter(run, step)), run.devices ** 2, sent(run, step), step === run.steps.length ? given.end : '',
  );
}

/** @param {State} state */
function table(state) {
  const [run, step] = [state.steps, stepOf(state)];
  const grid = gridAfter(run, step);
  return {
    caption: fill(given.caption, step, run.steps.length),
    head: [given.head[0], ...grid.map((_, chunk) => fill(given.chunk[0], chunk)), given.head[1]],
    rows: grid.map((row, device) => [device, ...row.map(({ value, done }) => `${value}${done ? ' ✓' : ''}`), formatBytes(sentBy(run, step, device))]),
  };
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  // A page brings the runs of every ring that its control reaches; a kernel records the one that is asked for.
  derive: ({ devices, step, steps, runs }) => ({ devices, step, steps: runs?.[devices] ?? steps }),
  check({ devices, step, steps }) {
    if (!isRun(steps)) throw new TypeError('no run of a ring');
    if (steps.texts && devices !== steps.devices) throw new Error(fill(given.wrongDevices, steps.devices, devices));
    if (step > lastStep(devices)) throw new Error(fill(given.wrongStep, lastStep(devices), devices, step));
  },
  show(state) {
    const [{ steps: run }, step] = [state, stepOf(state)];
    const last = run.steps.length;
    return {
      ...(run.texts && { devices: null }),
      step: { value: step, last, text: `${step} of ${last}${step ? `, ${phaseAfter(run, step)}` : ''}` },
    };
  },
  // Another ring has another number of steps: it begins at its start.
  change: (_state, name, value) => (name === 'devices' ? { devices: value, step: 0 } : { [name]: value }),
  draw,
  say,
  phase: (state) => phaseAfter(state.steps, stepOf(state)),
  table,
};
