// A recorded ring all-reduce, step by step: devices are rows, chunks are columns, and what travels goes down
// its column to the row below, or from the last row around to the first.
import { formatBytes } from '../shared/format.js';
import { texture, textures } from '../shared/svg.js';
import { cut, markup } from '../shared/text.js';
import { DEVICES, MAX_DEVICES, MIN_DEVICES, bytesInAll, checkRun, doneCells, gridAfter, lastStep, phaseAfter, sentBy } from './model.js';

/** @typedef {import('./model.js').Run} Run */
/** @typedef {{ devices: number, step: number, steps: Run, runs?: Record<string, Run> }} State */
/** @typedef {import('../shared/types.d.ts').Canvas} Canvas */

const NARROW = 560;
const HEADER = 76;
const CELL_HEIGHT = 40;
const GAP = 24;

/** @param {Run} run @param {number} width */
function layout(run, width) {
  const n = run.devices;
  const narrow = width < NARROW;
  const [left, rail] = narrow ? [28, 16] : [80, 28];
  const pitch = Math.min(120, (width - left - rail) / n);
  const gap = narrow ? 4 : 8;
  const bottom = HEADER + n * CELL_HEIGHT + (n - 1) * GAP;
  return {
    narrow, n, pitch, bottom,
    cell: pitch - gap,
    railX: left + n * pitch - gap + rail / 2,
    x: (/** @type {number} */ chunk) => left + chunk * pitch,
    y: (/** @type {number} */ device) => HEADER + device * (CELL_HEIGHT + GAP),
  };
}

/** @typedef {ReturnType<typeof layout>} Layout */

/** The way that a message takes. @param {Layout} place @param {number} source @param {number} chunk */
function way(place, source, chunk) {
  const middle = place.x(chunk) + place.cell / 2;
  const start = place.y(source) + CELL_HEIGHT;
  if (source < place.n - 1) return `M${middle} ${start + 2}V${start + GAP - 3}`;
  return `M${middle} ${start + 2}v14H${place.railX}V${HEADER - 17}H${middle}V${HEADER - 3}`;
}

/** @param {State} state @param {Canvas} canvas */
function draw(state, { width, id, from }) {
  const run = state.steps;
  const step = Math.min(state.step, run.steps.length);
  const place = layout(run, width);
  const grid = gridAfter(run, step);
  const transfers = step > 0 ? run.steps[step - 1].transfers : [];
  const arrived = new Set(transfers.map(([, destination, chunk]) => `${destination},${chunk}`));
  const moving = from !== undefined;
  const legendTop = place.bottom + 36;
  const bytesTop = legendTop + (place.narrow ? 60 : 36);
  const height = bytesTop + (place.narrow ? 56 : 38);
  return markup`<svg class="sw-svg ${moving && 'sw-ring-moving'}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="Chunks by device">
${textures(id, ['optimizer'])}
<defs><marker id="${id}-head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" class="sw-fill-communication"/></marker></defs>
<text x="0" y="16" class="sw-body sw-strong sw-fill-text">${headline(run, step, place.narrow)}</text>
${Array.from({ length: place.n }, (_, i) => markup`<text x="${place.x(i) + place.cell / 2}" y="48" text-anchor="middle" class="sw-small sw-fill-muted">${place.narrow ? `c${i}` : `chunk ${i}`}</text>`)}
${grid.map((row, device) => markup`<g><text x="0" y="${place.y(device) + 25}" class="sw-small sw-fill-muted">${place.narrow ? `d${device}` : `device ${device}`}</text>
${row.map((cell, chunk) => drawCell(cell, { x: place.x(chunk), y: place.y(device), width: place.cell, n: place.n, id, arrived: arrived.has(`${device},${chunk}`) }))}</g>`)}
${transfers.map(([source, , chunk, , value]) => {
    const path = way(place, source, chunk);
    const middle = place.x(chunk) + place.cell / 2;
    return markup`<path d="${path}" marker-end="url(#${id}-head)" class="sw-ring-way sw-stroke-communication"/>
${place.cell > 52 && source < place.n - 1 && markup`<text x="${middle + (chunk < place.n - 1 ? 8 : -8)}" y="${place.y(source) + CELL_HEIGHT + 16}" text-anchor="${chunk < place.n - 1 ? 'start' : 'end'}" class="sw-small sw-fill-text sw-number">${run.steps[step - 1].op === 'reduce_scatter' ? '+' : '='}${value}</text>`}
${moving && markup`<rect x="-7" y="-5" width="14" height="10" rx="4" class="sw-ring-rider sw-fill-communication" style="offset-path:path('${path}')"/>`}`;
  })}
${legend(place, id, legendTop)}
${bytesBar(run, step, bytesTop, width)}
</svg>`;
}

/** @param {Run} run @param {number} step @param {boolean} narrow */
function headline(run, step, narrow) {
  if (step === 0) return narrow ? 'Start' : `Start: each device has its own ${run.devices} chunks`;
  const half = run.steps.length / 2;
  const [name, at, what] = step <= half ? ['Reduce-scatter', step, 'send and add'] : ['All-gather', step - half, 'send and store'];
  return `${name}, step ${at} of ${half}${narrow ? '' : `: ${what}`}`;
}

/** What the marks and the ring mean. @param {Layout} place @param {string} id @param {number} y */
const legend = (place, id, y) => markup`${[0, 1, 2].map((i) => markup`<rect x="${i * 7}" y="${i < 2 ? y + 4 : y + 7.5}" width="5.5" height="${i < 2 ? 5 : 1.5}" class="${i < 2 ? 'sw-fill-gradients' : 'sw-fill-rule'}"/>`)}
<text x="28" y="${y + 11}" class="sw-small sw-fill-muted">marks: the devices in the sum</text>
<g transform="translate(${place.narrow ? '0 24' : '272 0'})"><rect x="1" y="${y - 1}" width="20" height="14" rx="4" fill="${texture(id, 'optimizer')}" class="sw-ring-done sw-stroke-text"/>
<text x="28" y="${y + 11}" class="sw-small sw-fill-muted">ringed: a finished sum</text></g>`;

/** @param {import('./model.js').Cell} cell @param {{ x: number, y: number, width: number, n: number, id: string, arrived: boolean }} place */
function drawCell(cell, { x, y, width, n, id, arrived }) {
  const middle = x + width / 2;
  const ink = cell.done ? 'sw-on-optimizer' : cell.spent ? 'sw-fill-muted' : 'sw-fill-text';
  const mark = (width - 8) / n;
  const plate = String(cell.value).length * 11 + 6;
  // A finished sum looks finished; its name says so to those who can't see it.
  return markup`<g class="sw-ring-cell${arrived && ' sw-ring-arrived'}"${cell.done && markup` role="img" aria-label="${cell.value}, finished"`}>
<rect x="${x}" y="${y}" width="${width}" height="${CELL_HEIGHT}" rx="4" ${cell.done && markup`fill="${texture(id, 'optimizer')}"`} class="${cell.done ? 'sw-ring-done sw-stroke-text' : `sw-ring-open ${arrived ? 'sw-stroke-communication' : 'sw-stroke-rule'}`}"/>
${cell.done && markup`<rect x="${middle - Math.min(plate, width - 6) / 2}" y="${y + 8}" width="${Math.min(plate, width - 6)}" height="24" rx="4" class="sw-fill-optimizer"/>`}
<text x="${middle}" y="${y + (cell.done ? 25 : 23)}" text-anchor="middle" class="${width < 40 ? 'sw-tiny' : 'sw-body'} sw-number ${cell.done && 'sw-strong'} ${ink} sw-ring-value">${cell.value}</text>
${!cell.done && Array.from({ length: n }, (_, device) => {
    const [height, paint] = cell.from.includes(device) ? [5, 'gradients'] : [1.5, 'rule'];
    return markup`<rect x="${x + 4 + device * mark}" y="${y + CELL_HEIGHT - 4 - height}" width="${Math.max(1.5, mark - 1.5)}" height="${height}" class="sw-fill-${paint}"/>`;
  })}</g>`;
}

/** @param {Run} run @param {number} step @param {number} y @param {number} width */
function bytesBar(run, step, y, width) {
  const all = bytesInAll(run);
  const sent = sentBy(run, step, 0);
  const count = run.steps.length;
  const part = width / count;
  const done = Math.round((sent / all) * count);
  return markup`${Array.from({ length: count }, (_, i) => markup`<rect x="${i * part + 0.75}" y="${y}" width="${Math.max(2, part - 3)}" height="12" rx="2" class="${i < done ? 'sw-fill-communication' : 'sw-ring-unsent sw-stroke-rule'}"/>`)}
<text x="0" y="${y + 30}" class="sw-small sw-fill-text sw-number">${width < NARROW ? 'Sent by each' : 'Each device has sent'} ${formatBytes(sent)} of ${formatBytes(all)}</text>
<text x="${width < NARROW ? 0 : width}" y="${y + (width < NARROW ? 50 : 30)}" text-anchor="${width < NARROW ? 'start' : 'end'}" class="sw-small sw-fill-muted sw-number">2(N−1)/N · M, M = ${formatBytes(run.bytes)}</text>`;
}

/** @param {State} state */
function say({ steps: run, step: asked }) {
  const step = Math.min(asked, run.steps.length);
  const grid = gridAfter(run, step);
  const sent = `Each device has sent ${formatBytes(sentBy(run, step, 0))} of ${formatBytes(bytesInAll(run))}.`;
  const cells = `${doneCells(grid)} of ${run.devices ** 2} cells hold a finished sum.`;
  if (step === 0) return `Start: ${run.devices} devices in a ring, each with ${run.devices} chunks of its own. ${sent}`;
  const { op, transfers } = run.steps[step - 1];
  const [source, destination, chunk, , value] = transfers[0];
  const effect = op === 'reduce_scatter' ? 'adds it to its own' : 'stores it';
  const end = step === run.steps.length ? ' Every device holds the whole sum.' : '';
  return `Step ${step} of ${run.steps.length}, ${phaseAfter(run, step)}: each device sends one chunk to its right neighbour, which ${effect}; ` +
    `device ${source} sends chunk ${chunk} (value ${value}) to device ${destination}. ${cells} ${sent}${end}`;
}

/** @param {State} state */
function table({ steps: run, step }) {
  const grid = gridAfter(run, Math.min(step, run.steps.length));
  return {
    caption: `What each of ${run.devices} devices holds after step ${Math.min(step, run.steps.length)} of ${run.steps.length}`,
    head: ['device', ...grid.map((_, chunk) => `chunk ${chunk}`), 'bytes sent'],
    rows: grid.map((row, device) => [device, ...row.map(({ value, done }) => `${value}${done ? ' ✓' : ''}`), sentBy(run, step, device)]),
  };
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  name: 'RingAllReduce',
  className: 'sw-ring',
  title: 'Ring all-reduce',
  addressKey: 'ring',
  fields: {
    devices: { kind: 'whole', least: MIN_DEVICES, most: MAX_DEVICES },
    step: { kind: 'whole', least: 0, most: lastStep(MAX_DEVICES) },
  },
  data: ['steps', 'runs'],
  // A page brings the runs of every ring that its control reaches; a kernel records the one that is asked for.
  derive: ({ devices, step, steps, runs }) => ({ devices, step, steps: runs?.[devices] ?? steps }),
  check({ devices, step, steps }) {
    const last = lastStep(devices);
    if (step > last) throw new Error(`step must be from 0 to ${last} with ${devices} devices, not ${cut(step)}`);
    checkRun(steps);
  },
  controls: ({ devices, step, steps: run }) => [
    { kind: 'range', name: 'devices', label: 'Devices', stops: DEVICES, value: devices, text: String(devices) },
    {
      kind: 'stepper', name: 'step', label: 'Step', value: Math.min(step, run.steps.length), last: run.steps.length,
      text: `${Math.min(step, run.steps.length)} of ${run.steps.length}${step > 0 ? `, ${phaseAfter(run, Math.min(step, run.steps.length))}` : ''}`,
    },
  ],
  // Another ring has another number of steps: it begins at its start.
  change: (_state, name, value) => (name === 'devices' ? { devices: value, step: 0 } : { [name]: value }),
  draw,
  say,
  phase: ({ steps: run, step }) => phaseAfter(run, Math.min(step, run.steps.length)),
  table,
};
