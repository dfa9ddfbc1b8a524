import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/pipeline-schedule/index.js';
import { END, analyse, heldAt, now, schedule } from '../../widgets/src/pipeline-schedule/model.js';
import { alt, prompts } from '../../widgets/src/pipeline-schedule/words.js';
import { controlsOf } from '../../widgets/src/shared/controls.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';

/** Two stages and two micro-batches by hand, with messages that travel for half a slot. */
const own = [
  [0, 0, 'F', 0, 1], [0, 1, 'F', 1, 2], [1, 0, 'F', 1.5, 2.5], [1, 0, 'B', 2.5, 4.5], [1, 1, 'F', 4.5, 5.5],
  [0, 0, 'B', 5, 7], [1, 1, 'B', 5.5, 7.5], [0, 1, 'B', 8, 10],
];
const defaults = { policy: '1f1b', stages: 4, microbatches: 8, backward_cost: 2, step: END, cells: [] };
const state = (/** @type {Record<string, any>} */ traits = {}) =>
  soundState(widget, (trait) => ({ ...defaults, ...traits })[/** @type {keyof typeof defaults} */ (trait)]);
const drawn = (/** @type {any} */ from, width = 640, /** @type {number | undefined} */ before = undefined) => widget.draw(from, { width, id: 'x', from: before }).text;
const plain = (/** @type {string} */ text) => text.replaceAll('\u00a0', ' ');
const names = (/** @type {string} */ svg) => [...svg.matchAll(/aria-label="([^"]*)" tabindex/g)].map(([, name]) => plain(name));
const count = (/** @type {string} */ text, /** @type {RegExp} */ what) => text.match(what)?.length ?? 0;

test('GPipe fills, turns round and drains; 1F1B takes turns', () => {
  const order = (/** @type {string} */ policy, /** @type {number} */ stage) =>
    schedule({ ...defaults, cells: [], policy, stages: 2, microbatches: 3 }).filter((slot) => slot[0] === stage).map((slot) => slot[2] + slot[1]).join(' ');
  assert.equal(order('gpipe', 0), 'F0 F1 F2 B0 B1 B2');
  assert.equal(order('1f1b', 0), 'F0 F1 B0 F2 B1 B2');
  assert.equal(order('1f1b', 1), 'F0 B0 F1 B1 F2 B2');
});

test('a schedule of one’s own: what its cells need, hold and leave idle', () => {
  const run = analyse(/** @type {any} */ (own));
  assert.deepEqual([run.makespan, run.microbatches, run.idle, run.peaks], [10, 2, [4, 4], [2, 1]]);
  assert.equal(run.bubble, 0.4);
  assert.deepEqual(run.times, [1, 2, 2.5, 4.5, 5.5, 7, 7.5, 10]);
  const needs = run.cells.map((cell) => cell.needs.map(({ op, microbatch, stage }) => `${op}${microbatch}-${stage}`));
  assert.deepEqual(needs, [[], [], ['F0-0'], ['F0-1'], ['F1-0'], ['B0-1', 'F0-0'], ['F1-1'], ['B1-1', 'F1-0']]);
  assert.deepEqual([0, 0.5, 1.5, 5, 7, 10].map((time) => heldAt(run.rows[0], time)), [0, 1, 2, 2, 1, 0]);
});

test('a step is a time at which something ends, and past the last is the last', () => {
  assert.deepEqual([0, 1, END].map((step) => now(state({ step }))), [0, 1, 33]);
  assert.equal(state().step, state().run.times.length);
  assert.equal(state({ policy: 'own', cells: own, step: 3 }).step, 3);
});

test('cells are drawn when they have begun, and those that run are cut off now', () => {
  assert.equal(count(drawn(state({ step: 0 })), /class="sw-schedule-cell/g), 0);
  assert.equal(count(drawn(state()), /class="sw-schedule-cell/g), 64);
  const cut = state({ policy: 'own', cells: own, step: 2 }); // time 2: two have ended, one runs
  assert.equal(count(drawn(cut), /class="sw-schedule-cell/g), 3);
  const [end, running] = [/<path d="M([\d.]+) 88V/, /data-key="F0-1"[^>]*>\s*<rect x="([\d.]+)" y="[\d.]+" width="([\d.]+)"/]
    .map((what) => drawn(cut).match(what)?.slice(1).map(Number) ?? []);
  assert.ok(Math.abs(end[0] - (running[0] + running[1] + 0.75)) < 0.02, `${end} ${running}`);
});

test('a cell says its times, what it needs and what its device holds, and points there', () => {
  const svg = drawn(state());
  assert.ok(names(svg).includes(
    'Backward of micro-batch 1 on device 1, time 11 to 13. It needs B1 of device 2 (ended at 11) and F1 of device 1 (ended at 3). The device holds 3 micro-batches, then 2.'));
  assert.ok(names(svg).includes('Forward of micro-batch 0 on device 0, time 0 to 1. It needs no other cell. The device holds 1 micro-batch.'));
  assert.ok(names(svg).includes('Device 1 idle, time 4 to 8: B0 needs B0 of device 2 (ended at 8) and F0 of device 1 (ended at 2).'));
  assert.ok(names(svg).includes('Device 3 idle, time 27 to 33.'));
  assert.ok(names(svg).includes('Device 0 holds activations of 0 micro-batches at time 33, and of at most 4, from time 3.'));
  assert.ok(names(svg).includes('Device 0 idles 9 of 33.'));
  assert.equal(count(svg, /data-needs="[^"]/g), 56, 'all but the forwards of device 0');
  assert.match(svg, /data-key="B1-1"[^>]*data-needs="B1-2 F1-1"/);
});

test('marks have keys of their own', () => {
  const keys = [...drawn(state({ stages: 8, microbatches: 32 })).matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);
  assert.equal(new Set(keys).size, keys.length);
});

test('only a drawing that is asked to moves, from where it was', () => {
  assert.equal(count(drawn(state({ step: 12 })), /sw-schedule-new/g), 0);
  const moving = drawn(state({ policy: 'own', cells: own, step: 5 }), 640, 4); // time 4.5 to 5.5
  assert.deepEqual([...moving.matchAll(/new" style="--from:([\d.]+)"/g)].map(([, from]) => from), ['0', '0', '0', '0'], 'F1 and B0, and what both hold');
  const grown = drawn(state({ policy: 'own', cells: own, step: 6 }), 640, 5); // 5.5 to 7: B0 has run for a quarter
  assert.match(grown, /new" style="--from:0.25"/);
});

test('every extreme is drawn with finite numbers, inside its width, with names that have room', () => {
  for (const policy of ['gpipe', '1f1b']) for (const stages of [1, 8]) for (const microbatches of [1, 2, 16, 32]) for (const backward_cost of [1, 1.5, 3]) for (const width of [256, 288, 559, 640, 728]) {
    const one = state({ policy, stages, microbatches, backward_cost });
    for (const step of [0, 1, Math.floor(one.run.times.length / 2), END]) {
      const svg = drawn(state({ ...one, step }), width);
      assert.doesNotMatch(svg, /NaN|Infinity|undefined|width="-/);
      for (const [, x, w] of svg.matchAll(/<rect[^>]* x="([-\d.]+)" y="[\d.]+" width="([\d.]+)"/g)) assert.ok(Number(x) >= 0 && Number(x) + Number(w) <= width + 0.01);
    }
  }
  const labels = (/** @type {any} */ traits, /** @type {number} */ width) => [...drawn(state(traits), width).matchAll(/sw-stroke-(parameters|gradients)">([^<]*)</g)].map(([, , text]) => text);
  assert.ok(labels({ backward_cost: 1, microbatches: 4 }, 640).includes('F0'));
  assert.ok(labels({}, 640).includes('0') && labels({}, 640).includes('B0'));
  assert.deepEqual(labels({ stages: 8, microbatches: 32 }, 288), []);
});

test('times of one’s own may be of any size, and rounding makes no idle time', () => {
  for (const scale of [1e-9, 0.1, 1e9, 1e300]) {
    const cells = own.map(([stage, microbatch, op, start, end]) => [stage, microbatch, op, Number(start) * scale, Number(end) * scale]);
    const one = state({ policy: 'own', cells });
    assert.deepEqual(one.run.gaps.map((gaps) => gaps.length), [2, 2]);
    assert.ok(Math.abs(one.run.bubble - 0.4) < 1e-12);
    for (const step of [0, 4, END]) assert.doesNotMatch(drawn(state({ policy: 'own', cells, step }), 256), /NaN|Infinity|undefined|width="-/);
  }
  assert.match(drawn(state({ policy: 'own', cells: own.map((slot) => slot.map((part, i) => (i > 2 ? Number(part) * 1.1 : part))) })), /makespan 11</);
});

test('the whole is said with bubble and peaks, a step with what ended', () => {
  assert.equal(plain(widget.say(state())), '1F1B: 4 stages, 8 micro-batches; makespan 33, of which devices idle 27.3 %. Device 0 holds at most 4, device 3 at most 1.');
  assert.equal(plain(widget.say(state({ stages: 1, policy: 'gpipe' }))), 'GPipe: 1 stage, 8 micro-batches; makespan 24, of which devices idle 0 %. Device 0 holds at most 8.');
  assert.equal(plain(widget.say(state({ step: 0 }))), 'Time 0 of 33: nothing has run. Device 0 holds 0 micro-batches.');
  assert.equal(plain(widget.say(state({ step: 3 }))), 'Time 3 of 33: F2 on device 0, F1 on device 1, F0 on device 2 ended. Device 0 holds 3 micro-batches.');
  assert.match(plain(widget.say(state({ policy: 'own', cells: own }))), /^Yours: 2 stages, 2 micro-batches; makespan 10/);
  assert.deepEqual([0, 3, 4, END].map((step) => widget.phase?.(state({ step }))), ['-1', '0', '1', '1']);
});

test('the table has what every device does at every time', () => {
  const { head, rows } = widget.table(state());
  assert.deepEqual(head, ['Time', 'Device 0', 'Device 1', 'Device 2', 'Device 3']);
  assert.equal(rows.length, state().run.times.length + 2);
  assert.deepEqual(rows[3], ['3–4', 'F3', 'F2', 'F1', 'F0']);
  assert.deepEqual(rows.slice(-2), [['Idle', '9', '9', '9', '9'], ['Most held', 4, 3, 2, 1]]);
  const all = rows.slice(0, -2).map((row) => row[4]);
  assert.deepEqual([...new Set(all)].length, 17, 'eight forwards, eight backwards and nothing');
});

test('whoever sees the whole sees the next whole too; one’s own is left for ours of its size', () => {
  assert.deepEqual(widget.change?.(state(), 'microbatches', 16), { policy: '1f1b', stages: 4, microbatches: 16, step: END });
  assert.deepEqual(widget.change?.(state({ step: 3 }), 'policy', 'gpipe'), { policy: 'gpipe', stages: 4, microbatches: 8 });
  assert.deepEqual(widget.change?.(state({ step: 3 }), 'step', 4), { step: 4 });
  const yours = state({ policy: 'own', cells: own });
  assert.deepEqual([yours.stages, yours.microbatches], [2, 2]);
  assert.deepEqual(widget.change?.(yours, 'policy', '1f1b'), { policy: '1f1b', stages: 2, microbatches: 2, step: END });
  assert.deepEqual(widget.change?.(yours, 'stages', 3), { policy: 'gpipe', stages: 3, microbatches: 2, step: END });
  const offered = (/** @type {any} */ from) => /** @type {any} */ (controlsOf(widget, from)[0]).options.map((/** @type {any} */ option) => option.text);
  assert.deepEqual([offered(state()), offered(yours)], [['GPipe', '1F1B'], ['GPipe', '1F1B', 'Yours']]);
});

test('what goes into the address comes back, and code is Python', () => {
  const address = toAddress(widget, state({ step: 7, backward_cost: 1.5 }));
  assert.equal(address, '1f1b,4,8,1.5,7');
  assert.deepEqual(fromAddress(widget, address), { policy: '1f1b', stages: 4, microbatches: 8, backward_cost: 1.5, step: 7 });
  assert.equal(toCode(widget, state()), 'PipelineSchedule(policy="1f1b", stages=4, microbatches=8, backward_cost=2, step=31)');
  assert.throws(() => state({ policy: 'own' }), /policy own needs the cells/);
});

test('only a whole schedule is drawn as one’s own', () => {
  const wrong = (/** @type {number} */ place, /** @type {unknown} */ value) => own.map((slot, i) => (i === 3 ? slot.with(place, /** @type {any} */ (value)) : slot));
  for (const cells of [undefined, null, {}, []]) {
    assert.throws(() => state({ policy: 'own', cells }), /^Error: policy own needs the cells/, JSON.stringify(cells));
  }
  for (const cells of [
    'x', [null], own.slice(1), [...own, own[0]], wrong(0, 8), wrong(3, NaN), wrong(4, Infinity), wrong(4, undefined),
    [[0, 0, 'F', 0, 0], [0, 0, 'B', 0, 0]],
  ]) {
    assert.throws(() => viewOf(widget, state({ policy: 'own', cells }), { width: 640, id: 'x' }), /^Error: cells is damaged/, JSON.stringify(cells));
  }
  assert.throws(() => state({ stages: 9 }), /stages must be a whole number from 1 to 8/);
});

test('the words are of the state', () => {
  assert.match(plain(alt(state({ stages: 2, microbatches: 2, step: 2 }))), /^Pipeline schedule of 2 stages and 2 micro-batches up to time 2 of 9: device 0 runs F0 F1 and holds at most 2; device 1 runs F0 and/);
  assert.equal(prompts.length, 3);
});
