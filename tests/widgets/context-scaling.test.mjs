import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/context-scaling/index.js';
import { duration } from '../../widgets/src/shared/format.js';
import { DEVICES, HEADS, LAYERS, MEMORIES, block, divisors, hidingBlock, parts, seconds, tokenBytes } from '../../widgets/src/context-scaling/model.js';
import * as words from '../../widgets/src/context-scaling/words.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';

// Round numbers, so that answers can be worked out by head: 200 TFLOP/s, 200 GB/s inside a node of 8 and 20 outside.
const hardware = /** @type {[string, ...number[]]} */ (['mine', 200e12, 8, 1e-6, 200e9, 10e-6, 20e9]);
const base = { devices: 8, memory: 1, heads: 32, kv_heads: 32, head_size: 128, layers: 0, hardware };
const sound = (/** @type {Record<string, any>} */ traits) => soundState(widget, (trait) => traits[trait]);
const svg = (/** @type {object} */ change, width = 640) => widget.draw({ ...base, ...change }, { width, id: 'x' }).text.replaceAll('\u00a0', ' ');
const EXTREMES = [1, 9, 64].flatMap((devices) =>
  [0, 0.01, 64].flatMap((memory) =>
    [[1, 1, 64], [128, 128, 256], [128, 1, 128]].flatMap(([heads, kv, size]) =>
      [0, 128].map((layers) => ({ ...base, devices, memory, heads, kv_heads: kv, head_size: size, layers })))));

test('a forward pass holds six blocks of 16-bit numbers', () => {
  assert.equal(tokenBytes(base), 6 * 2 * 32 * 128);
  assert.deepEqual(Object.keys(parts(base)), ['queries', 'outputs', 'keys', 'flight']);
  assert.equal(tokenBytes({ ...base, kv_heads: 8 }), (2 + 4 / 4) * 2 * 32 * 128);
});

test('the context grows with the devices, at the same memory on each', () => {
  const tokens = [1, 2, 8, 32, 64].map((devices) => devices * block({ ...base, devices }));
  assert.deepEqual(tokens, [1, 2, 8, 32, 64].map((devices) => devices * tokens[0]));
});

test('so does the time of each device', () => {
  const work = (/** @type {number} */ devices) => seconds({ ...base, devices })[0];
  for (const devices of [2, 8, 32]) assert.ok(Math.abs(work(devices) / work(1) - devices) < 1e-9);
});

test('a block of the size that hides its transfers waits for nothing, and a smaller one waits', () => {
  for (const devices of [2, 9]) {
    for (const layers of [0, 4]) {
      for (const kv of [32, 4]) {
        const state = { ...base, devices, layers, kv_heads: kv };
        const wait = (/** @type {number} */ tokens) => seconds({ ...state, memory: ((tokens + 0.5) * tokenBytes(state)) / 1e9 })[2];
        const least = hidingBlock(state);
        const [, , , near, rate, far, slow] = hardware;
        const home = layers ? (devices > 8 ? far : near) + (8 * kv * 128 * least) / (devices > 8 ? slow : rate) : 0;
        assert.ok(Math.abs(wait(least) - home) <= 1e-12, `${devices} ${layers} ${kv}`);
        assert.ok(wait(least - 1) > (layers ? 0.99 * home : 0));
      }
    }
  }
});

test('one device sends nothing, and no token takes no time', () => {
  for (const layers of [0, 2]) {
    assert.deepEqual(seconds({ ...base, devices: 1, layers }).slice(1), [0, 0]);
    assert.deepEqual(seconds({ ...base, memory: 0, layers }), [0, 0, 0]);
  }
});

test('the drawing says every number that it shows', () => {
  const text = svg({ devices: 32 });
  for (const part of ['651K tokens', '32 × 20,345 = 651,040', '20.3K tokens × 49.2 kB', '167 MB', '333 MB', '✓ transfers hidden', '64 devices']) {
    assert.match(text, new RegExp(`>${part.replaceAll('.', '\\.')} ?<`));
  }
  assert.match(svg({ devices: 12, memory: 0.1 }), />✕ waits [\d.]+ % of the time</);
  assert.match(svg({ memory: 0 }), />✕ no room for a token</);
  assert.match(svg({ layers: 4 }), />✓ hidden but the last hop</);
});

test('the bar is the memory, in the parts that it holds', () => {
  const widths = [...svg({ layers: 4, kv_heads: 8 }).matchAll(/width="([^"]*)" height="32"/g)].map(([, width]) => Number(width));
  assert.equal(widths.length, 5);
  assert.ok(Math.abs(widths.reduce((sum, wide) => sum + wide) - 640) < 0.1);
});

test('everything that is drawn answers, each under a key of its own', () => {
  for (const state of EXTREMES) {
    const text = svg(state);
    const keys = [...text.matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);
    assert.equal(keys.length, new Set(keys).size);
    assert.equal(keys.length, Object.keys(parts(state)).length + 2 * new Set([1, 8, 16, 24, 32, 40, 48, 56, 64, state.devices]).size);
  }
});

test('no number is broken, at any width', () => {
  for (const state of EXTREMES) {
    for (const width of [256, 559, 560, 760]) {
      assert.equal(/NaN|Infinity|undefined| (x|y|width|height|r)="-/.exec(svg(state, width).replace(/<rect y="-6"/g, ''))?.[0], undefined);
    }
    for (const text of [widget.say(state), words.alt(state), JSON.stringify(widget.table(state))]) assert.doesNotMatch(text, /NaN|undefined|Infinity/);
  }
});

test('durations have a unit that one would say', () => {
  const said = [0, 2e-9, 3.93e-6, 0.0152, 1.26, 90, 10_368].map((time) => duration(time).replace('\u00a0', ' '));
  assert.deepEqual(said, ['0 s', '0.002 µs', '3.93 µs', '15.2 ms', '1.26 s', '1.5 min', '2.88 h']);
});

test('the table has every stop, and the chosen number of devices', () => {
  const rows = (/** @type {number} */ devices) => widget.table({ ...base, devices }).rows.map(([first]) => first);
  assert.deepEqual(rows(8), DEVICES);
  assert.deepEqual(rows(17), [...DEVICES, 17].sort((a, b) => Number(a) - Number(b)));
});

test('other heads keep the keys dividing them', () => {
  assert.deepEqual(divisors(12), [1, 2, 3, 4, 6, 12]);
  const change = (/** @type {object} */ state, /** @type {string} */ name, /** @type {number} */ value) => widget.change?.({ ...base, ...state }, name, value);
  assert.deepEqual(change({}, 'heads', 8), { heads: 8, kv_heads: 8 });
  assert.deepEqual(change({ kv_heads: 8 }, 'heads', 24), { heads: 24, kv_heads: 8 });
  assert.deepEqual(change({ kv_heads: 16 }, 'heads', 40), { heads: 40, kv_heads: 10 });
  assert.deepEqual(change({}, 'devices', 9), { devices: 9 });
  for (const heads of HEADS) sound({ ...base, ...change({ kv_heads: 7, heads: 7 }, 'heads', heads) });
});

test('stops ascend', () => {
  for (const stops of [DEVICES, MEMORIES, HEADS, LAYERS]) assert.deepEqual(stops, [...new Set(stops)].sort((a, b) => a - b));
});

test('the prompts have their answers in the drawing', () => {
  assert.match(svg({ devices: 32 }), /32 devices: 32 × 20,345 = 651,040 tokens/);
  const waits = MEMORIES.map((memory) => seconds({ ...base, devices: 32, memory })[2] > 0);
  assert.ok(waits.includes(true) && waits.includes(false));
  assert.match(widget.say({ ...base, devices: 32 }), /from [\d,]+ tokens on/);
  const grouped = parts({ ...base, kv_heads: 8, layers: 32 });
  assert.ok(grouped.queries + grouped.outputs > grouped.keys + grouped.flight);
});

test('only a state that a control or a kernel can make is sound', () => {
  assert.deepEqual(sound(base), base);
  for (const [change, message] of /** @type {[object, RegExp][]} */ ([
    ...[0, 65, 1.5, '8', null].map((devices) => [{ devices }, /^devices must be/]),
    ...[-1, 65, NaN, '1'].map((memory) => [{ memory }, /^memory must be/]),
    ...[0, 129, 2.5].map((heads) => [{ heads }, /^heads must be/]),
    ...[0, 5, 64, 1.5].map((kv) => [{ kv_heads: kv }, /^kv_heads must/]),
    ...[0, 100, '128'].map((size) => [{ head_size: size }, /^head_size must be/]),
    ...[-1, 129].map((layers) => [{ layers }, /^layers must be/]),
    ...[undefined, null, {}, 'x', hardware.slice(0, 4), hardware.with(1, NaN), hardware.with(4, NaN)].map((wrong) => [{ hardware: wrong }, /^hardware is damaged/]),
  ])) {
    assert.throws(() => viewOf(widget, sound({ ...base, ...change }), { width: 640, id: 'x' }), ({ message: said }) => message.test(said), JSON.stringify(change));
  }
});
