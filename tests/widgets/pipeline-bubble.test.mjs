import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/pipeline-bubble/index.js';
import { TARGETS, fewest, ofIdeal, ofTotal } from '../../widgets/src/pipeline-bubble/model.js';
import { controlsOf } from '../../widgets/src/shared/controls.js';
import { alt, prompts } from '../../widgets/src/pipeline-bubble/words.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { soundState } from '../../widgets/src/shared/state.js';

const defaults = { stages: 4, microbatches: 8, target: 0.1 };
const state = (/** @type {Record<string, any>} */ traits = {}) =>
  soundState(widget, (trait) => ({ ...defaults, ...traits })[/** @type {keyof typeof defaults} */ (trait)]);
const plain = (/** @type {string} */ text) => text.replaceAll('\u00a0', ' ');
const drawn = (/** @type {Record<string, any>} */ traits = {}, width = 640) => plain(widget.draw(state(traits), { width, id: 'x' }).text);
const names = (/** @type {string} */ svg) => [...svg.matchAll(/data-key="([^"]*)" role="img" aria-label="([^"]*)"/g)].map(([, key, name]) => [key, name]);
const STAGES = /** @type {number[]} */ (/** @type {any} */ (widget.controls[0]).stops);

test('the two definitions, and what a target takes', () => {
  assert.deepEqual([ofTotal(4, 8), ofIdeal(4, 8), ofTotal(1, 5), ofIdeal(64, 1)], [3 / 11, 3 / 8, 0, 63]);
  assert.deepEqual([fewest(4, 0.1), fewest(8, 0.1), fewest(16, 0.05), fewest(1, 0.01), fewest(64, 0.01)], [27, 63, 285, 1, 6237]);
  assert.equal(ofTotal(4, 27), 0.1);
});

test('the slider reaches the answers to the prompts', () => {
  for (const stages of STAGES) for (const target of TARGETS) {
    const { stops } = /** @type {any} */ (controlsOf(widget, state({ stages, target }))[1]);
    assert.ok(stops.includes(4 * stages) && stops.includes(Math.min(256, fewest(stages, target))));
    assert.deepEqual([stops[0], stops.at(-1), new Set(stops).size], [1, 256, stops.length]);
  }
  assert.ok([1, 2, 4, 8, 16, 64].every((stages) => STAGES.includes(stages)));
  assert.equal(prompts.length, 3);
});

test('every mark says formula and numbers', () => {
  const said = Object.fromEntries(names(drawn()));
  assert.equal(said.total, '27.3 % of the total time: (P − 1)/(M + P − 1) = 3/(8 + 3).');
  assert.equal(said.ideal, '37.5 % of the ideal time: (P − 1)/M = 3/8.');
  assert.equal(said.four, '15.8 % at M = 4P = 16: (P − 1)/(5P − 1) = 3/19.');
  assert.equal(said.target, 'M = 27 for at most 10 %: M ≥ (P − 1)(1 − t)/t, t = 0.1.');
  assert.equal(said.total64, '4.48 % of the total time: (P − 1)/(M + P − 1) = 3/(64 + 3).');
  assert.equal(said.idle, 'Device 0: 6 idle, of 22 slots in all.');
  const keys = names(drawn()).map(([key]) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test('the point beyond the plot is an arrow at its top; one stage has no bubble', () => {
  assert.match(drawn({ stages: 64, microbatches: 3 }), /data-key="idealpoint"[^>]*><path/);
  assert.match(drawn(), /data-key="idealpoint"[^>]*><circle/);
  assert.equal(names(drawn({ stages: 1 })).some(([key]) => key === 'idle'), false);
  assert.match(drawn({ stages: 1 }), />0 % <tspan/);
});

test('every extreme is drawn with finite numbers, inside its width', () => {
  for (const stages of [1, 2, 3, 16, 64]) for (const microbatches of [1, 2, 100, 256]) for (const target of TARGETS) for (const width of [256, 288, 559, 640, 728]) {
    const svg = drawn({ stages, microbatches, target }, width);
    assert.doesNotMatch(svg, /NaN|Infinity|undefined|width="-/);
    for (const [, x] of svg.matchAll(/ c?x="([-\d.]+)"/g)) assert.ok(Number(x) >= 0 && Number(x) <= width, x);
  }
});

test('the sentence, the table and the image’s words have the numbers', () => {
  assert.equal(plain(widget.say(state())), '4 stages, 8 micro-batches: each device idles 27.3 % of the total time, which is 37.5 % of the ideal time. A bubble of at most 10 % takes 27 micro-batches.');
  const { rows } = widget.table(state());
  assert.deepEqual(rows.map(([count]) => count), ['1', '2', '4', '8', '16', '27', '32', '64', '128', '256']);
  assert.deepEqual(rows[3].map((cell) => plain(String(cell))), ['8', '27.3 %', '37.5 %']);
  assert.match(plain(alt(state())), /for 4 stages.*27\.3 % of the total/);
});

test('what goes into the address comes back, and code is Python', () => {
  assert.equal(toAddress(widget, state({ stages: 16, microbatches: 27 })), '16,27,0.1');
  assert.deepEqual(fromAddress(widget, '16,27,0.05'), { stages: 16, microbatches: 27, target: 0.05 });
  assert.equal(toCode(widget, state()), 'PipelineBubble(stages=4, microbatches=8, target=0.1)');
});

test('only a state that a control can make is drawn', () => {
  for (const [name, values] of Object.entries({ stages: [0, 65, 2.5, '4', NaN, null, undefined], microbatches: [0, 257, 1.5, '8', null], target: [0, 0.3, '0.1', NaN, undefined] })) {
    for (const value of values) assert.throws(() => state({ [name]: value }), new RegExp(`^Error: ${name} must be`), String(value));
  }
});
