import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/causal-balance/index.js';
import { LAYOUTS, balance, runsOf, spell } from '../../widgets/src/causal-balance/model.js';
import { alt, prompts } from '../../widgets/src/causal-balance/words.js';
import { controlsOf } from '../../widgets/src/shared/controls.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { soundState } from '../../widgets/src/shared/state.js';

const base = { devices: 8, block: 16, layout: 'contiguous' };
const WIDTHS = [256, 320, 559, 560, 760];
const svg = (/** @type {object} */ change, width = 640) => widget.draw({ ...base, ...change }, { width, id: 'x' }).text;
const plain = (/** @type {string} */ text) => text.replaceAll('\u00a0', ' ');

test('the numbers of the chapter', () => {
  const contiguous = balance(base);
  assert.deepEqual(contiguous.work, [136, 392, 648, 904, 1160, 1416, 1672, 1928]);
  assert.equal(contiguous.imbalance.toFixed(2), '14.18');
  assert.equal(balance(base, 'striped').imbalance.toFixed(3), '1.115');
  assert.equal(balance(base, 'zigzag').imbalance, 1);
  assert.deepEqual(LAYOUTS.map((layout) => balance(base, layout).total), [8256, 8256, 8256]);
});

test('positions in words', () => {
  assert.equal(spell(runsOf('contiguous', 4, 16, 1)), '4 to 7');
  assert.equal(spell(runsOf('striped', 4, 16, 1)), '1, 5, … 13');
  assert.equal(spell(runsOf('striped', 4, 8, 1)), '1, 5');
  assert.equal(spell(runsOf('zigzag', 4, 16, 1)), '2, 3 and 12, 13');
  assert.equal(spell(runsOf('zigzag', 4, 4, 1)), '1');
});

test('extremes are drawn with finite numbers inside the drawing', () => {
  for (const width of WIDTHS) {
    for (const devices of [2, 5, 32]) {
      for (const block of [1, 3, 256]) {
        for (const layout of LAYOUTS) {
          const text = svg({ devices, block, layout }, width);
          assert.doesNotMatch(text, /NaN|Infinity|undefined|null/);
          for (const [, x, y, w, h] of text.matchAll(/<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/g)) {
            assert.ok(Number(w) >= 0 && Number(h) >= 0, `${w} by ${h}`);
            assert.ok(Number(x) >= 0 && Number(x) + Number(w) <= width + 0.02, `${x} and ${w} in ${width}`);
            assert.ok(Number(y) >= 0);
          }
        }
      }
    }
  }
});

test('a column is as high as its work, up to the busiest of all layouts', () => {
  const heights = [...svg({}).matchAll(/height="([^"]*)" class="sw-fill-parameters" \/><\/g>/g)].map(([, height]) => Number(height));
  assert.equal(heights.length, 8);
  assert.equal(heights[7], 144);
  assert.ok(Math.abs(heights[0] / heights[7] - 136 / 1928) < 1e-3);
  const striped = [...svg({ layout: 'striped' }).matchAll(/height="([^"]*)" class="sw-fill-parameters" \/><\/g>/g)].map(([, height]) => Number(height));
  assert.ok(Math.abs(striped[7] / heights[7] - 1088 / 1928) < 1e-3, 'one scale for all layouts');
});

test('every part can be asked, by a key of its own', () => {
  const keys = [...svg({}).matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);
  assert.equal(new Set(keys).size, keys.length);
  assert.deepEqual(keys.toSorted(), [...[0, 1, 2, 3, 4, 5, 6, 7].flatMap((i) => [`d${i}`, `p${i}`]), ...LAYOUTS, 'mean'].toSorted());
  const text = plain(svg({}));
  for (const answer of [
    'Device 0: 136 pairs = 16 · (1 + 16)/2, as the query at position i sees i + 1 keys. It waits 93 % of the time for the busiest, with 1,928.',
    'Device 3 holds 16 tokens, at 48 to 63 of 0 to 127.',
    'Even work: 8,256 pairs ÷ 8 devices = 1,032.',
    'striped: slow-down 1.054× = most 1,088 ÷ mean 1,032; most ÷ least 976 = 1.115×.',
  ]) assert.ok(text.includes(answer), answer);
  assert.match(plain(svg({ layout: 'zigzag' })), /Device 1: 1,032 pairs = 8 · \(9 \+ 16\)\/2 \+ 8 · \(113 \+ 120\)\/2/);
});

test('the sentence and the headline say what the balance is', () => {
  assert.match(widget.say(base), /device 7 computes 1,928 pairs, the mean is 1,032.* 1\.868× the time of even work, and long blocks lead to 2 − 1\/P = 1\.875×\.$/);
  assert.match(widget.say({ ...base, layout: 'zigzag' }), /each computes 1,032 pairs, so none waits\.$/);
  assert.match(svg({}), /1\.868× <tspan/);
  assert.match(svg({ layout: 'zigzag' }), /✓ exactly even/);
  assert.match(svg({ devices: 32, block: 256, layout: 'striped' }), /1\.004× <tspan/);
});

test('what the prompts ask can be read', () => {
  assert.equal(prompts.length, 3);
  assert.match(svg({ devices: 32, block: 256 }), /1\.969× <tspan/);
  for (const layout of LAYOUTS) assert.match(svg({ block: 1, layout }), /1\.778× <tspan/);
  assert.deepEqual([1, 2, 3, 4].map((block) => /✓ exactly even/.test(svg({ block, layout: 'zigzag' }))), [false, true, false, true]);
});

test('the table has every device under every layout, and the factors', () => {
  const { head, rows } = widget.table(base);
  assert.deepEqual(head, ['Device', ...LAYOUTS]);
  assert.equal(rows.length, 8 + 3);
  assert.deepEqual(rows[7], [7, '1,928', '1,088', '1,032']);
  assert.deepEqual(rows.slice(-2), [['most ÷ mean', '1.868×', '1.054×', '1×'], ['most ÷ least', '14.2×', '1.115×', '1×']]);
});

test('the image has a name with the numbers', () => {
  assert.match(alt(base), /8 devices computes with 16 tokens each, contiguous: 136, 392,.*contiguous 1\.87, striped 1\.05, zigzag 1$/);
});

test('the address and the code make the same state', () => {
  const state = { devices: 32, block: 256, layout: 'zigzag' };
  assert.deepEqual(fromAddress(widget, toAddress(widget, state)), state);
  assert.equal(toCode(widget, state), 'CausalBalance(devices=32, block=256, layout="zigzag")');
});

test('every stop of a control is a value of its field', () => {
  for (const control of controlsOf(widget, base)) {
    const values = control.kind === 'range' ? control.stops : /** @type {any} */ (control).options.map((/** @type {any} */ option) => option.value);
    for (const value of values) soundState(widget, (trait) => ({ ...base, [control.name]: value })[/** @type {keyof typeof base} */ (trait)]);
  }
});

test('only a state that a control or a kernel can make is sound', () => {
  for (const [trait, values] of /** @type {[string, unknown[]][]} */ ([
    ['devices', [1, 33, 2.5, '8', NaN, null, undefined]], ['block', [0, 257, 1.5, '16', Infinity, null]], ['layout', ['spiral', 0, null, undefined]],
  ])) {
    for (const value of values) {
      const state = /** @type {any} */ ({ ...base, [trait]: value });
      assert.throws(() => soundState(widget, (name) => state[name]), new RegExp(`^Error: ${trait} must be`), `${trait} ${value}`);
    }
  }
});
