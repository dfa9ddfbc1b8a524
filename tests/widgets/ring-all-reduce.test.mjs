import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/ring-all-reduce/index.js';
import { controlsOf } from '../../widgets/src/shared/controls.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { code } from '../../widgets/src/ring-all-reduce/words.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';
import { bytesInAll, doneCells, gridAfter, phaseAfter, sentBy } from '../../widgets/src/ring-all-reduce/model.js';

/** Two devices by hand: [1, 2] and [10, 20]. @type {import('../../widgets/src/ring-all-reduce/model.js').Run} */
const run = {
  devices: 2,
  start: [[1, 2], [10, 20]],
  bytes: 8,
  steps: [
    { op: 'reduce_scatter', transfers: [[0, 1, 0, 4, 1, 11], [1, 0, 1, 4, 20, 22]] },
    { op: 'all_gather', transfers: [[0, 1, 1, 4, 22], [1, 0, 0, 4, 11]] },
  ],
};
const sound = (/** @type {Record<string, any>} */ traits) => soundState(widget, (trait) => traits[trait]);
const values = (/** @type {number} */ step) => gridAfter(run, step).map((row) => row.map(({ value }) => value));
const state = (/** @type {number} */ step) => ({ devices: 2, step, steps: run });
const svg = (/** @type {number} */ step, /** @type {number | undefined} */ from = undefined) =>
  widget.draw(state(step), { width: 640, id: 'x', from }).text;
const count = (/** @type {string} */ text, /** @type {RegExp} */ what) => text.match(what)?.length ?? 0;

test('replaying adds in the first half and stores in the second', () => {
  assert.deepEqual(values(0), [[1, 2], [10, 20]]);
  assert.deepEqual(values(1), [[1, 22], [11, 20]]);
  assert.deepEqual(values(2), [[11, 22], [11, 22]]);
  assert.deepEqual(run.start, [[1, 2], [10, 20]]);
});

test('a cell knows whose values it sums and whether it is finished', () => {
  const [[first, second]] = gridAfter(run, 1);
  assert.deepEqual([first.from, first.done, first.spent], [[0], false, true]);
  assert.deepEqual([second.from.toSorted(), second.done, second.spent], [[0, 1], true, false]);
  assert.deepEqual([0, 1, 2].map((step) => doneCells(gridAfter(run, step))), [0, 2, 4]);
});

test('bytes and phases', () => {
  assert.deepEqual([0, 1, 2].map((step) => sentBy(run, step, 0)), [0, 4, 8]);
  assert.equal(bytesInAll(run), 8);
  assert.deepEqual([0, 1, 2].map((step) => phaseAfter(run, step)), ['start', 'reduce-scatter', 'all-gather']);
});

test('the drawing rings what is finished and shows one way for each message', () => {
  for (const [step, ringed, ways] of [[0, 0, 0], [1, 2, 2], [2, 4, 2]]) {
    assert.equal(count(svg(step), /<g data-key="cell[^>]*><rect[^>]*class="sw-ring-done/g), ringed, `step ${step}`);
    assert.equal(count(svg(step), /class="sw-ring-way/g), ways, `step ${step}`);
  }
  assert.match(svg(1).replaceAll('\u00a0', ' '), /has sent 4 B of 8 B/);
});

test('a finished sum has a name that says so, and the phases are those of the run', () => {
  assert.equal(count(svg(1), /role="img" aria-label="Device ., chunk .: (11|22)[^"]*, finished/g), 2);
  assert.deepEqual([0, 1, 2].map((step) => widget.phase?.(state(step))), ['start', 'reduce-scatter', 'all-gather']);
});

test('the sentence tells the chunk from its value', () => {
  assert.match(widget.say(state(1)), /device 0 sends chunk 0 \(value 1\) to device 1\./);
});

test('marks have the colours of the legend, on cells that have been sent on too', () => {
  const three = { devices: 3, start: [[1, 2, 3], [4, 5, 6], [7, 8, 9]], bytes: 12, steps: [
    { op: 'reduce_scatter', transfers: [[0, 1, 0, 4, 1, 5], [1, 2, 1, 4, 5, 13], [2, 0, 2, 4, 9, 12]] },
  ] };
  const text = widget.draw(/** @type {any} */ ({ devices: 3, step: 1, steps: three }), { width: 640, id: 'x' }).text;
  const [cells, legend] = text.split('>marks: the devices')[0].split(/(?=<rect x="0" )/);
  assert.equal(gridAfter(/** @type {any} */ (three), 1).flat().filter(({ spent }) => spent).length, 3);
  const paints = (/** @type {string} */ part, /** @type {string} */ height) =>
    new Set([...part.matchAll(new RegExp(`<rect[^>]*height="${height}" class="([^"]*)"`, 'g'))].map(([, paint]) => paint));
  for (const height of ['5', '1.5']) {
    assert.equal(paints(legend, height).size, 1);
    assert.deepEqual(paints(cells, height), paints(legend, height), height);
  }
});

test('only a drawing that is asked to moves', () => {
  assert.equal(count(svg(1), /sw-ring-rider/g), 0);
  assert.equal(count(svg(1, 0), /sw-ring-rider/g), 2);
});

test('another number of devices starts at the beginning', () => {
  assert.deepEqual(widget.change?.(state(2), 'devices', 5), { devices: 5, step: 0 });
});

test('until a kernel has recorded the new ring, the old one stands', () => {
  const read = sound({ devices: 5, step: 3, steps: run });
  assert.equal(read.steps.devices, 2);
  assert.equal(controlsOf(widget, read)[1].value, 2);
  assert.match(widget.say(read), /^Step 2 of 2/);
});

test('what goes into the address comes back, and what is wrong is said', () => {
  assert.equal(toAddress(widget, { ...state(3), devices: 4 }), '4,3');
  assert.deepEqual(fromAddress(widget, '4,3'), { devices: 4, step: 3 });
  assert.equal(toCode(widget, state(1)), 'RingAllReduce(devices=2, step=1)');
  for (const [text, message] of /** @type {[string, RegExp][]} */ ([
    ['4', /2 values: devices, step/], ['4,x', /step must be a whole number/], ['4,-1', /step must be/], ['4,', /not nothing/], ['9,0', /devices must be a whole number from 2 to 8/],
  ])) {
    assert.throws(() => fromAddress(widget, text), message, text);
  }
  assert.throws(() => sound({ ...state(0), step: 7 }), /step must be from 0 to 2 with 2 devices/);
});

test('only a state that a control or a kernel can make is sound', () => {
  for (const step of [0, 1, 2]) sound(state(step));
  sound({ devices: 5, step: 8, steps: run }); // the kernel hasn't recorded the ring of five yet
  for (const devices of [0, 1, 9, 2.5, '2', NaN, null, undefined]) {
    assert.throws(() => sound({ ...state(0), devices }), /^Error: devices must be/, String(devices));
  }
  for (const step of [-1, 3, 0.5, '1', NaN, Infinity, null, undefined]) {
    assert.throws(() => sound({ ...state(0), step }), /^Error: step must be/, String(step));
  }
  const [first, second] = run.steps;
  const sent = (/** @type {unknown[]} */ transfer) => [{ ...first, transfers: [transfer, first.transfers[1]] }, second];
  for (const steps of [
    undefined, null, {}, 'x', { x: 1 }, { ...run, devices: 0 }, { ...run, devices: 3 }, { ...run, bytes: null },
    { ...run, start: [[1, 2]] }, { ...run, start: [[1, 2], [10, null]] }, { ...run, steps: [first] }, { ...run, steps: [first, null] },
    { ...run, steps: [{ op: first.op }, second] },
    { ...run, steps: sent([0, 2, 0, 4, 1, 11]) }, { ...run, steps: sent([0, 1, -1, 4, 1, 11]) }, { ...run, steps: sent([0.5, 1, 0, 4, 1, 11]) },
    { ...run, steps: sent([0, 1, 0, 4, NaN, 11]) }, { ...run, steps: sent([0, 1, 0]) },
  ]) {
    const view = () => viewOf(widget, sound({ devices: 2, step: 1, steps }), { width: 640, id: 'x' });
    assert.throws(view, /^Error: steps or runs is damaged/, JSON.stringify(steps));
  }
});

test('a ring of the reader’s own tensors says their elements, and keeps its devices', () => {
  const texts = { start: [['1 element [1]', '1 element [2]'], ['1 element [10]', '1 element [20]']], steps: [['1 element [11]', '1 element [22]'], ['1 element [22]', '1 element [11]']] };
  const own = sound({ devices: 2, step: 1, steps: { ...run, texts } });
  assert.match(widget.draw(own, { width: 640, id: 'x' }).text, /aria-label="Device 1, chunk 0: 11 = 1 \+ 10, finished; 1 element \[11\]; 4.B"/);
  assert.deepEqual(controlsOf(widget, own).map(({ name }) => name), ['step']);
  assert.equal(code(own), 'RingAllReduce.from_tensors(tensors, step=1)');
  assert.throws(() => sound({ devices: 3, step: 1, steps: { ...run, texts } }), /devices must be 2, one for each tensor/);
});

test('everything is a mark once, and a table has every number of the grid', () => {
  for (const [step, marks] of [[0, 4 + 2], [1, 4 + 2 + 2]]) {
    const keys = [...svg(step).matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);
    assert.equal(new Set(keys).size, marks);
    assert.equal(keys.length, marks);
  }
  assert.deepEqual(widget.table(state(1)).rows.map((row) => row.slice(0, 3)), [[0, '1', '22 ✓'], [1, '11 ✓', '20']]);
});
