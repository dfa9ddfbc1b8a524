import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/megatron-mlp/index.js';
import { BACKWARD, LAST, shownAt, wholeOf } from '../../widgets/src/megatron-mlp/model.js';
import { alt, code, prompts } from '../../widgets/src/megatron-mlp/words.js';
import { controlsOf } from '../../widgets/src/shared/controls.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';

/** @typedef {import('../../widgets/src/megatron-mlp/model.js').Run} Run */

const [TOKENS, WIDTH] = [8, 12];

/** A run as Python would record it, with made-up elements. @param {number} n @param {number} [hidden] @returns {Run} */
function record(n, hidden = 48) {
  const slice = Math.floor(hidden / n);
  /** @param {string} shape @param {number} i @returns {[number, number, number, number]} */
  const part = (shape, i) => {
    const sizes = [...shape].map((letter) => ({ t: TOKENS, d: WIDTH, w: slice })[letter] ?? 0);
    const starts = [...shape].map((letter) => (letter === 'w' ? i * slice : 0));
    return [starts[0], starts[1], sizes[0], sizes[1]];
  };
  const devices = Array.from({ length: n }, (_, i) => i);
  /** @param {string} name @param {number} step @param {string} role @param {string} shape */
  const tensor = (name, step, role, shape) => ({
    name, formula: `of ${step}`, step, role, parts: devices.map((i) => part(shape, i)), first: devices.map((i) => `${step}.${i}`),
  });
  /** @param {string} name @param {string} shape @param {number} step @param {number} back @returns {any} */
  const place = (name, shape, step, back, role = 'activations') => [tensor(name, step, role, shape), tensor(`d${name}`, back, 'gradients', shape)];
  const bytes = (2 * (n - 1) * TOKENS * WIDTH * 4) / n;
  return {
    itemsize: 4,
    places: [
      place('X', 'td', 0, 11), 'f', place('Xi', 'td', 1, 10), place('A', 'dw', 0, 10, 'parameters'), place('H', 'tw', 2, 9), 'GeLU',
      place('Y', 'tw', 3, 8), place('B', 'wd', 0, 8, 'parameters'), place('P', 'td', 4, 7), 'g', place('Z', 'td', 5, 6),
    ],
    steps: Array.from({ length: LAST + 1 }, (_, step) => ({
      title: `title ${step}`, says: `sentence ${step}`, sent: devices.map(() => (step % BACKWARD === 5 ? bytes : 0)),
    })),
  };
}

const steps = { 2: record(2), 3: record(3), 4: record(4) };
const state = (devices = 2, step = 0, more = {}) => {
  const traits = /** @type {Record<string, unknown>} */ ({ devices, step, steps, ...more });
  return soundState(widget, (trait) => traits[trait]);
};
const svg = (devices = 2, step = 0, width = 640, /** @type {number | undefined} */ from = undefined) =>
  viewOf(widget, state(devices, step), { width, id: 'x', from }).drawing.replaceAll('\u00a0', ' ');
const asked = (/** @type {string} */ text, /** @type {string} */ key) => text.match(new RegExp(`data-key="${key}"[^>]*aria-label="([^"]*)"`))?.[1];
/** Boxes of the tensors at a place: of the whole and of each device's part. @param {string} text @param {number} index */
const boxes = (text, index) => [...text.matchAll(new RegExp(`<g data-key="${index},[^>]*>(.*?)</g>`, 'gs'))].map(([, group]) =>
  [...group.matchAll(/<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/g)].map((box) => box.slice(1).map(Number)));

test('a place shows the gradient from the step on that makes it', () => {
  const { places } = steps[2];
  assert.equal(shownAt(places[1], 0), undefined);
  for (const [index, back] of [[0, 11], [4, 9], [10, 6]]) {
    assert.equal(shownAt(places[index], back - 1)?.role, 'activations');
    assert.equal(shownAt(places[index], back)?.role, 'gradients');
  }
});

test('what devices hold adds up to the whole', () => {
  const sizes = steps[3].places.flatMap((place) => (typeof place === 'string' ? [] : [wholeOf(place[0])]));
  assert.deepEqual(sizes, [[8, 12], [8, 12], [12, 48], [8, 48], [8, 48], [48, 12], [8, 12], [8, 12]]);
});

test('matrices are drawn in proportion, slices within the outline of the whole', () => {
  for (const width of [256, 640]) {
    for (const [index, across] of [[3, 0], [7, 1]]) { // columns of A, rows of B
      const lanes = boxes(svg(4, 0, width), index);
      assert.equal(lanes.length, 4);
      lanes.forEach(([whole, part], i) => {
        assert.ok(Math.abs(whole[2 + across] / whole[3 - across] - 4) < 0.05, 'd_ff is four times d_model');
        assert.ok(Math.abs(part[2 + across] - whole[2 + across] / 4) < 0.05);
        assert.ok(Math.abs(part[across] - whole[across] - (i * whole[2 + across]) / 4) < 0.05, 'each has the next slice');
        assert.equal(part[3 - across], whole[3 - across]);
      });
    }
  }
});

test('lanes go to the right where there is room, and down where there is none', () => {
  const middles = (/** @type {number} */ width, /** @type {number} */ axis) => [3, 4, 7].map((index) => boxes(svg(2, 0, width), index)[0][0][axis]);
  for (const [width, axis] of [[560, 0], [760, 0], [256, 1], [559, 1]]) {
    const places = middles(width, axis);
    assert.deepEqual(places, [...places].sort((a, b) => a - b), `${width}`);
  }
  const long = { ...steps, 2: record(2, 40960) };
  const text = viewOf(widget, state(2, 0, { steps: long }), { width: 760, id: 'x' }).drawing;
  assert.ok(boxes(text, 4)[0][0][1] > boxes(text, 3)[0][0][1], 'shapes of many digits need a row each');
});

test('nothing is drawn outside the drawing, at any width and step', () => {
  for (const width of [256, 288, 559, 560, 640, 760]) {
    for (const devices of [2, 3, 4]) {
      for (let step = 0; step <= LAST; step += 1) {
        const text = svg(devices, step, width);
        const height = Number(/height="([^"]*)"/.exec(text)?.[1]);
        for (const [, x, y, w, h] of text.matchAll(/<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/g)) {
          assert.ok(Number(x) >= 0 && Number(x) + Number(w) <= width + 0.01 && Number(y) >= 0 && Number(y) + Number(h) <= height, `${width} ${devices} ${step}`);
        }
      }
    }
  }
});

test('one bar adds in each pass, and it is the one that sends', () => {
  for (const [step, label, bar] of /** @type {[number, string, string][]} */ ([[5, 'all-reduce', '9'], [11, 'all-reduce', '1']])) {
    const text = svg(3, step);
    assert.match(asked(text, bar) ?? '', new RegExp(`^title ${step}, step ${step}. sentence ${step}$`));
    assert.equal(text.match(new RegExp(`>${label}<`, 'g'))?.length, 1);
    assert.match(text, />each device sends 512 B</);
    assert.equal(text.match(/sw-on-communication/g)?.length, 3, 'each device has the sum');
  }
  for (const step of [0, 4, 6, 10]) {
    assert.match(svg(3, step), />nothing is sent</);
    assert.doesNotMatch(svg(3, step), /sw-on-communication/);
  }
});

test('a tensor says who holds what, and when or what it is', () => {
  assert.equal(asked(svg(3, 1), '4,2'), 'Device 2: H = of 2, rows 0 to 7 and columns 32 to 47 of 8×48, 512 B; made in step 2.');
  assert.equal(asked(svg(3, 2), '4,2'), 'Device 2: H = of 2, rows 0 to 7 and columns 32 to 47 of 8×48, 512 B; first element 2.2.');
  assert.equal(asked(svg(2, 9), '4,0'), 'Device 0: dH = of 9, rows 0 to 7 and columns 0 to 23 of 8×48, 768 B; first element 9.0.');
  assert.equal(asked(svg(4, 5), '10,-1'), 'Every device: Z = of 5, rows 0 to 7 and columns 0 to 11 of 8×12, 384 B; first element 5.0.');
});

test('what is new moves in the direction of its pass, and only when it is told to', () => {
  assert.doesNotMatch(svg(2, 3), /sw-mlp-moving/);
  assert.match(svg(2, 3, 640, 2), /sw-mlp-moving" style="--mlp-way:-16px 0px"/);
  assert.match(svg(2, 9, 640, 8), /--mlp-way:16px 0px/);
  assert.match(svg(2, 9, 256, 8), /--mlp-way:0px 16px/);
  assert.equal(svg(2, 3).match(/class="sw-mlp-new"/g)?.length, 2);
});

test('the pass is a place on the stepper', () => {
  const change = /** @type {NonNullable<typeof widget.change>} */ (widget.change);
  assert.deepEqual(change(state(), 'pass', 1), { step: 6 });
  assert.deepEqual(change(state(), 'pass', 0), { step: 0 });
  assert.deepEqual(change(state(), 'devices', 4), { devices: 4 });
  assert.deepEqual([5, 6].map((step) => controlsOf(widget, state(2, step)).find(({ name }) => name === 'pass')?.value), [0, 1]);
  assert.notEqual(widget.phase?.(state(2, 5)), widget.phase?.(state(2, 6)));
});

test('the table has every tensor, its parts, and what its step sends', () => {
  const { rows, head } = widget.table(state(3, 0));
  assert.equal(rows.length, 16);
  assert.ok(rows.every((row) => row.length === head.length));
  assert.deepEqual(rows.map(([, step]) => step), [0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 10, 10, 11]);
  assert.deepEqual(rows[1], ['A = of 0', 0, '12×16', '0.0, 0.1, 0.2', '0, 0, 0']);
  assert.deepEqual(rows[7], ['Z = of 5', 5, '8×12', '5.0, 5.1, 5.2', '512, 512, 512']);
});

test('address, code and words', () => {
  assert.equal(toAddress(widget, state(3, 7)), '3,7');
  assert.deepEqual(fromAddress(widget, '3,7'), { devices: 3, step: 7 });
  for (const [text, message] of /** @type {[string, RegExp][]} */ ([['3', /2 values/], ['5,0', /devices must be one of 2, 3, 4/], ['2,12', /step must be a whole number from 0 to 11/]])) {
    assert.throws(() => fromAddress(widget, text), message);
  }
  assert.equal(toCode(widget, state(3, 7)), code(state(3, 7)));
  assert.equal(alt(state(3, 7)).replace('\u00a0', ' '), 'A feed-forward block on 3 devices, step 7, title 7. sentence 7');
  assert.equal(prompts.length, 3);
});

test('a damaged recording is refused', () => {
  const broken = (/** @type {(run: any) => void} */ damage) => {
    const run = structuredClone(steps[2]);
    damage(run);
    return { steps: { 2: run } };
  };
  for (const more of [
    { steps: undefined }, { steps: null }, { steps: {} }, { steps: { 2: {} } }, { steps: { 2: 'x' } }, { devices: 5 }, { step: 12 },
    broken((run) => run.steps.pop()), broken((run) => run.places.pop()), broken((run) => delete run.places[3][0].parts),
    broken((run) => run.places[3][0].parts.pop()), broken((run) => run.places[3][0].first.pop()), broken((run) => (run.places[4] = [])),
    broken((run) => (run.places[3][0].parts[0][2] = 'x')), broken((run) => (run.steps[0] = null)), broken((run) => delete run.steps[0].says),
    broken((run) => delete run.steps[0].sent), broken((run) => (run.itemsize = null)),
  ]) {
    assert.throws(() => viewOf(widget, state(2, 0, more), { width: 640, id: 'x' }), JSON.stringify(more)?.slice(0, 200));
  }
});
