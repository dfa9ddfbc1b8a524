import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/memory-budget/index.js';
import { DEVICES, PARAMS, breakdown, fewestDevices, fits } from '../../widgets/src/memory-budget/model.js';
import * as words from '../../widgets/src/memory-budget/words.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { frame } from '../../widgets/src/shared/frame.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';

const recipes = [
  { name: '2+2+12', params: 2, grads: 2, optimizer: 12, description: 'mixed' },
  { name: '2+0+8', params: 2, grads: 0, optimizer: 8, description: 'no gradients' },
];
const base = { params: 7.5e9, devices: 64, stage: 0, gpu: 80, recipe: '2+2+12', activations: 0, recipes };
const sound = (/** @type {Record<string, any>} */ traits) => soundState(widget, (trait) => traits[trait]);
const svg = (/** @type {object} */ change) => widget.draw({ ...base, ...change }, { width: 640, id: 'x' }).text;

test('the table of the ZeRO paper: 7.5 billion parameters on 64 devices', () => {
  const totals = [0, 1, 2, 3].map((stage) => breakdown({ ...base, stage }).total / 1e9);
  assert.deepEqual(totals.map((gb) => gb.toFixed(2)), ['120.00', '31.41', '16.64', '1.88']);
});

test('the fewest devices are enough, and one less is not', () => {
  for (const params of [7.5e9, 70e9, 405e9, 2e12]) {
    for (const stage of [1, 2, 3]) {
      const state = { ...base, params, stage };
      const devices = fewestDevices(state);
      if (devices === null) {
        assert.ok(!fits({ ...state, devices: 1e9 }));
        continue;
      }
      assert.ok(fits({ ...state, devices }));
      assert.ok(devices === 1 || !fits({ ...state, devices: devices - 1 }));
    }
  }
});

test('a part that fills the GPU to the last byte fits', () => {
  const exact = { ...base, params: 5e9, stage: 0, devices: 1 };
  assert.ok(fits(exact));
  assert.equal(fewestDevices(exact), 1);
  assert.equal(fewestDevices({ ...exact, params: 5e9 + 1 }), null);
});

test('sliders reach the sizes that people ask about', () => {
  for (const params of [1e8, 1.24e8, 1.3e9, 7e9, 7.5e9, 8e9, 13e9, 70e9, 175e9, 405e9, 671e9, 1.8e12, 2e12]) assert.ok(PARAMS.includes(params), String(params));
  for (const devices of [1, 2, 3, 8, 24, 48, 64, 384, 1024, 4096]) assert.ok(DEVICES.includes(devices), String(devices));
  for (const stops of [PARAMS, DEVICES]) assert.deepEqual(stops, [...new Set(stops)].sort((a, b) => a - b));
});

test('equal ways on the slider of parameters are equal factors', () => {
  const decades = [1e8, 1e9, 1e10, 1e11, 1e12].map((count) => PARAMS.indexOf(count));
  assert.deepEqual(decades, [0, 40, 80, 120, 160]);
  const factors = PARAMS.slice(1).map((count, i) => count / PARAMS[i]);
  assert.ok(Math.min(...factors) > 1.01 && Math.max(...factors) < 1.12, `${Math.min(...factors)} to ${Math.max(...factors)}`);
});

test('the first prompt has its answer on the slider: half the bytes, twice the model', () => {
  for (const [optimizer, answer] of [[12, 5e9], [4, 1e10]]) {
    const recipe = { name: 'r', params: 2, grads: 2, optimizer, description: '' };
    assert.equal(PARAMS.findLast((params) => fits({ ...base, recipe: 'r', recipes: [recipe], params })), answer);
  }
});

test('the drawing says every number and unit that it shows', () => {
  const text = svg({ activations: 12 }).replaceAll('\u00a0', ' ');
  for (const part of ['132 GB', '15 GB', '90 GB', '12 GB', '80 GB GPU', 'stage 0: 132 GB', '52 GB more than 80 GB']) {
    assert.match(text, new RegExp(`>[^<]*${part}`), part);
  }
});

test('the bar grows with its parts and the ghost stays', () => {
  const widths = (/** @type {string} */ text) =>
    [...text.matchAll(/<rect x="[^"]*" y="92" width="([^"]*)" height="48"/g)].map(([, width]) => Number(width));
  const [before, after] = [widths(svg({ stage: 0 })), widths(svg({ stage: 1 }))];
  assert.equal(before.length, 3);
  assert.ok(Math.abs(before[2] / before[0] - 6) < 0.01, 'optimizer state is six times the parameters');
  assert.equal(before[0], after[0]);
  assert.ok(after[2] < before[2] / 50);
  const ghost = /d="([^"]*)" class="sw-memory-ghost/;
  assert.equal(ghost.exec(svg({ stage: 0 }))?.[1], ghost.exec(svg({ stage: 1 }))?.[1]);
});

test('a part of no bytes is not drawn', () => {
  assert.doesNotMatch(svg({ recipe: '2+0+8' }), />gradients</);
  assert.match(svg({}), />gradients</);
});

test('no texture has the id of a control, and every texture that is used is there', () => {
  const text = frame(widget, words, { ...base, activations: 30 }, { id: 'x', width: 640, copy: '' }).text;
  const ids = [...text.matchAll(/ id="([^"]*)"/g)].map(([, id]) => id);
  assert.deepEqual(ids.filter((id, i) => ids.indexOf(id) < i), []);
  const patterns = [...text.matchAll(/<pattern id="([^"]*)"/g)].map(([, id]) => id);
  const used = [...text.matchAll(/fill="url\(#([^"]*)\)"/g)].map(([, id]) => id);
  assert.equal(used.length, 4);
  assert.ok(used.every((id) => patterns.includes(id)));
});

test('drawing is a pure function of the state', () => {
  assert.equal(svg({ stage: 2 }), svg({ stage: 2 }));
});

test('what goes into the address comes back', () => {
  for (const change of [{}, { params: 1.75e11, stage: 3, recipe: '2+0+8', activations: 2.5, gpu: 141, devices: 100 }]) {
    const { recipes: _, ...state } = { ...base, ...change };
    assert.deepEqual(fromAddress(widget, toAddress(widget, { ...base, ...change })), state);
  }
});

test('the address and the Python are short', () => {
  assert.equal(toAddress(widget, base), '7.5e9,64,0,80,2-2-12,0');
  assert.equal(toCode(widget, base), 'MemoryBudget(params=7.5e9, devices=64, stage=0, gpu=80, recipe="2+2+12", activations=0)');
});

test('an address that is wrong says what is', () => {
  for (const [text, message] of /** @type {[string, RegExp][]} */ ([
    ['', /6 values/],
    ['7e9,64,0,80,2-2-12,0,1', /6 values/],
    ['7e7,64,0,80,2-2-12,0', /params must be a whole number from 1e8 to 2e12/],
    ['7e9,0,0,80,2-2-12,0', /devices must be/],
    ['7e9,64,4,80,2-2-12,0', /stage must be/],
    ['7e9,64,0,81,2-2-12,0', /gpu must be/],
    ['7e9,64,0,80,1-1,0', /recipe must be one of .* not 1-1/],
    ['7e9,64,0,80,2-2-12,x', /activations must be/],
    ['7e9,64,,80,2-2-12,0', /stage must be/],
  ])) {
    assert.throws(() => fromAddress(widget, text), message, text);
  }
});

test('a message shows the beginning of what is wrong, however long it is', () => {
  const long = 'x'.repeat(20_000);
  for (const text of [`${long},64,0,80,2-2-12,0`, `7e9,64,0,80,${long},0`]) {
    assert.throws(() => fromAddress(widget, text), (error) => /x{39}…$/.test(String(error)) && String(error).length < 200);
  }
});

test('only a state that a control or a kernel can make is sound', () => {
  sound(base);
  for (const [change, message] of /** @type {[object, RegExp][]} */ ([
    ...[NaN, 'x', '7.5e9', null, undefined, 1e7, 1e13, 1e9 + 0.5].map((params) => [{ params }, /^params must be/]),
    ...[0, -1, 1.5, 4097, NaN, '64', null].map((devices) => [{ devices }, /^devices must be/]),
    ...[9, -1, '1', true, null, NaN].map((stage) => [{ stage }, /^stage must be/]),
    ...[0, 81, '80', Infinity].map((gpu) => [{ gpu }, /^gpu must be/]),
    ...[-1, 193, NaN, Infinity, '3', null].map((activations) => [{ activations }, /^activations must be/]),
    ...['1+1', 0, null].map((recipe) => [{ recipe }, /^recipe must be/]),
    [{ recipe: '4+4+8' }, /^there is no recipe 4\+4\+8/],
  ])) {
    assert.throws(() => sound({ ...base, ...change }), ({ message: said }) => message.test(said), JSON.stringify(change));
  }
});

test('damaged recipes are not drawn', () => {
  for (const list of [null, {}, 'x', [null], [{ ...recipes[0], grads: NaN }], [{ ...recipes[0], description: undefined }], [{ name: '2+2+12' }]]) {
    assert.throws(() => viewOf(widget, sound({ ...base, recipes: list }), { width: 640, id: 'x' }), /recipes/, JSON.stringify(list));
  }
});

test('all that is drawn can be asked, and the table has it', () => {
  const text = svg({ activations: 12, stage: 1 }).replaceAll('\u00a0', ' ');
  const marks = [...text.matchAll(/data-key="([^"]*)" role="img" aria-label="([^"]*)"/g)].map(([, key, said]) => [key, said]);
  assert.deepEqual(marks.map(([key]) => key), ['parameters', 'gradients', 'optimizer state', 'activations', 'gpu', 'ghost', 'stage0', 'stage1', 'stage2', 'stage3']);
  assert.equal(marks[2][1], 'optimizer state: 12 bytes each, split over 64, 1.41 GB of 43.4 GB');
  assert.deepEqual(widget.table({ ...base, stage: 1 }).rows.map((row) => String(row[2]).replaceAll('\u00a0', ' ')), ['15 GB', '15 GB', '1.41 GB', '31.4 GB', 'none', '2', '2', '2']);
});

test('every extreme of every control gives finite numbers', () => {
  for (const params of [1e8, 2e12]) for (const devices of [1, 4096]) for (const stage of [0, 3]) for (const gpu of [24, 192]) for (const activations of [0, 192]) {
    for (const width of [256, 640, 760]) viewOf(widget, sound({ ...base, params, devices, stage, gpu, activations }), { width, id: 'x' });
  }
});
