import assert from 'node:assert/strict';
import { test } from 'node:test';
import { soundState } from '../../widgets/src/shared/state.js';
import { widget } from '../../widgets/src/zero-stages/index.js';
import { collectives, drawn, isSlice, kept, saving, sentBytes, shares } from '../../widgets/src/zero-stages/model.js';
import * as words from '../../widgets/src/zero-stages/words.js';

const base = { params: 7.5e9, devices: 64, step: 0 };
const sound = (/** @type {Record<string, any>} */ traits) => soundState(widget, (trait) => traits[trait]);
const svg = (/** @type {object} */ change, width = 640, from = /** @type {number | undefined} */ (undefined)) =>
  widget.draw({ ...base, ...change }, { width, id: 'x', from }).text.replaceAll('\u00a0', ' ');
const EXTREMES = [1, 2, 8, 9, 4096].flatMap((devices) =>
  [1e8, 2e12].flatMap((params) => [0, 1, 2, 3].map((step) => ({ params, devices, step }))));

test('the table of the ZeRO paper: 7.5 billion parameters on 64 devices', () => {
  const gigabytes = [0, 1, 2, 3].map((stage) => (kept(base, stage).total / 1e9).toFixed(2));
  assert.deepEqual(gigabytes, ['120.00', '31.41', '16.64', '1.88']);
  assert.equal(saving(base, 3), 64);
});

test('a step sends twice the parameters, and at stage 3 three times', () => {
  const elements = [0, 1, 2, 3].map((step) => (sentBytes({ ...base, step }) / 2 / base.params) * (64 / 63));
  assert.deepEqual(elements, [2, 2, 2, 3]);
  for (const stage of [0, 1, 2, 3]) {
    assert.equal(collectives(stage).reduce((sum, { trips }) => sum + trips, 0), elements[stage]);
    assert.equal(sentBytes({ ...base, devices: 1 }, stage), 0);
  }
});

test('bytes per parameter that are whole and that are split make sixteen', () => {
  assert.deepEqual([0, 1, 2, 3].map(shares), [[16, 0], [4, 12], [2, 14], [0, 16]]);
});

test('every device is drawn up to eight, then the first three and the last', () => {
  assert.deepEqual(drawn(1), [0]);
  assert.equal(drawn(8).length, 8);
  assert.deepEqual(drawn(64), [0, 1, 2, null, 63]);
  assert.match(svg({}), /⋯ 60 more/);
});

test('one device has nothing to split', () => {
  assert.ok(!isSlice({ ...base, devices: 1, step: 3 }, 'params'));
  assert.match(svg({ devices: 1, step: 3 }), /nothing to split/);
  assert.match(svg({ devices: 1, step: 3 }), /Device 0, parameters: a whole copy, 2Ψ = 15 GB/);
});

test('a slice is drawn where it lies, in its share of the width', () => {
  const boxes = [...svg({ devices: 4, step: 1 }).matchAll(/<g data-key="optimizer(\d)"[^>]*><rect x="([^"]*)" y="[^"]*" width="([^"]*)"[^>]*>\s*<rect x="([^"]*)" y="[^"]*" width="([^"]*)"/g)];
  assert.equal(boxes.length, 4);
  for (const [, device, x, wide, at, slice] of boxes) {
    assert.ok(Math.abs(Number(slice) - Number(wide) / 4) < 0.01);
    assert.ok(Math.abs(Number(at) - Number(x) - (Number(wide) * Number(device)) / 4) < 0.02);
  }
});

test('a slice of 4,096 devices is still seen, and inside its box', () => {
  for (const [, x, wide, at, slice] of svg({ devices: 4096, step: 3 }, 256).matchAll(/<rect x="([^"]*)" y="[^"]*" width="([^"]*)" height="20" class="sw-zero-box[^>]*>\s*<rect x="([^"]*)" y="[^"]*" width="([^"]*)"/g)) {
    assert.ok(Number(slice) >= 1.5 && Number(at) >= Number(x) && Number(at) + Number(slice) <= Number(x) + Number(wide) + 0.02);
  }
});

test('only what a step has just split moves, and it ends as its slice', () => {
  const moving = (/** @type {string} */ text) => [...text.matchAll(/sw-zero-shrink sw-fill-(\w+)/g)].map(([, role]) => role);
  assert.deepEqual(moving(svg({ devices: 3, step: 1 })), []);
  assert.deepEqual(new Set(moving(svg({ devices: 3, step: 1 }, 640, 0))), new Set(['optimizer']));
  assert.deepEqual(moving(svg({ devices: 3, step: 2 }, 640, 1)), ['gradients', 'gradients', 'gradients']);
  assert.deepEqual(new Set(moving(svg({ devices: 3, step: 3 }, 640, 2))), new Set(['parameters']));
  assert.deepEqual(moving(svg({ devices: 1, step: 3 }, 640, 2)), []);
  assert.match(svg({ devices: 3, step: 1 }, 640, 0), /--k:calc\(1\/3\)/);
});

test('the drawing says every number that it shows', () => {
  const text = svg({ step: 1 });
  for (const part of ['31.4 GB', '15 GB', '1.41 GB', '3.82× less than at stage 0', '4Ψ + 12Ψ/N', 'each sends 29.5 GB', '→ 14.8 GB', 'reduce-scatter', 'all-gather']) {
    assert.ok(text.includes(`>${part}<`), part);
  }
});

test('everything that is drawn answers, each under a key of its own', () => {
  for (const state of EXTREMES) {
    const text = svg(state);
    const keys = [...text.matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);
    const devices = drawn(state.devices).filter((device) => device !== null).length;
    assert.equal(keys.length, new Set(keys).size);
    assert.equal(keys.length, 4 * devices + 3 + 4 + 3 + collectives(state.step).length);
    for (const [, said] of text.matchAll(/aria-label="([^"]*)" tabindex/g)) assert.match(said, /\d|Ψ|batch/, said);
  }
});

test('no number is broken at any width', () => {
  for (const state of EXTREMES) {
    for (const width of [256, 559, 560, 760]) {
      const text = svg(state, width, state.step - 1);
      assert.equal(/NaN|Infinity|undefined| (x|y|width|height|r)="-/.exec(text)?.[0], undefined);
    }
  }
});

test('the sentence, the table and the name of the image say what is drawn', () => {
  for (const state of EXTREMES) {
    for (const text of [widget.say(state), words.alt(state), JSON.stringify(widget.table(state))]) assert.doesNotMatch(text, /NaN|undefined|Infinity/);
    assert.equal(widget.table(state).rows.length, 4);
  }
  const row = widget.table(base).rows[2].map((cell) => String(cell).replaceAll('\u00a0', ' '));
  assert.deepEqual(row, ['2', '15 GB', '234 MB', '1.41 GB', '16.6 GB', '7.21×', '29.5 GB']);
  assert.match(words.alt({ ...base, step: 3 }), /all-gather of parameters, all-gather of parameters, reduce-scatter of gradients/);
});

test('the prompts have their answers in the drawing', () => {
  const totals = [0, 1, 2, 3].map((stage) => kept(base, stage).total);
  assert.ok(totals[0] - totals[1] > totals[1] - totals[3], 'the first step saves most');
  assert.match(svg({ step: 1, devices: 4096 }), /parameters: 2 bytes each, a copy per device/);
  assert.match(svg({ step: 2, devices: 8 }), /reduce-scatter of gradients.*all-gather of parameters/s);
  assert.equal(sentBytes({ ...base, devices: 8 }, 2), sentBytes({ ...base, devices: 8 }, 0));
});

test('only a state that a control or a kernel can make is sound', () => {
  assert.deepEqual(sound(base), base);
  for (const [change, trait] of /** @type {[object, string][]} */ ([
    ...[NaN, '7.5e9', null, 1e7, 1e13, 1e9 + 0.5].map((params) => [{ params }, 'params']),
    ...[0, -1, 1.5, 4097, '64'].map((devices) => [{ devices }, 'devices']),
    ...[-1, 4, 0.5, '1', true].map((step) => [{ step }, 'step']),
  ])) {
    assert.throws(() => sound({ ...base, ...change }), ({ message }) => message.startsWith(`${trait} must be`), JSON.stringify(change));
  }
});
