import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageModel } from '../../widgets/src/host.js';
import { withFallbacks } from '../../widgets/src/look-css.js';
import { withPlace, withState } from '../../widgets/src/shared/address.js';
import { nearest, nextStop } from '../../widgets/src/shared/controls.js';
import { formatBytes, formatCount, plural } from '../../widgets/src/shared/format.js';
import { ticks } from '../../widgets/src/shared/svg.js';
import { setSound, soundState, viewOf } from '../../widgets/src/shared/state.js';
import { neighbour } from '../../widgets/src/shared/asking.js';
import { share } from '../../widgets/src/shared/link.js';
import { cut, markup } from '../../widgets/src/shared/text.js';
import { widget as budget } from '../../widgets/src/memory-budget/index.js';

const plain = (/** @type {string} */ text) => text.replaceAll('\u00a0', ' ');

test('bytes have three digits and a decimal unit', () => {
  const cases = /** @type {[number, string][]} */ ([
    [0, '0 B'], [16, '16 B'], [1500, '1.5 kB'], [1.88e9, '1.88 GB'], [31.40625e9, '31.4 GB'], [120e9, '120 GB'],
    [999.9e6, '1 GB'], [999.4e9, '999 GB'], [999.6e9, '1 TB'], [1.12e12, '1.12 TB'], [100.4e9, '100 GB'],
  ]);
  for (const [bytes, text] of cases) assert.equal(plain(formatBytes(bytes)), text);
});

test('counts', () => {
  const cases = /** @type {[number, string][]} */ ([
    [1e8, '0.1 B'], [1.05e8, '0.105 B'], [7.5e9, '7.5 B'], [175e9, '175 B'], [995e9, '995 B'], [1e12, '1 T'], [2e12, '2 T'],
  ]);
  for (const [count, text] of cases) assert.equal(plain(formatCount(count)), text);
  assert.deepEqual([1, 2, 4096].map((n) => plain(plural(n, 'device'))), ['1 device', '2 devices', '4,096 devices']);
});

test('markup escapes values and keeps markup', () => {
  assert.equal(markup`<a title="${'"<&'}">${[1, markup`<b>${undefined}</b>`, false]}</a>`.text, '<a title="&quot;&lt;&amp;">1<b></b></a>');
});

test('a value between two stops moves to the neighbour in the direction of the key', () => {
  const stops = [1, 2, 4, 8];
  assert.equal(nearest(stops, 5), 2);
  assert.equal(nextStop(stops, 4, 3), 8);
  assert.equal(nextStop(stops, 5, 3), 8);
  assert.equal(nextStop(stops, 5, 1), 4);
  assert.equal(nextStop(stops, 3.5, 3), 4);
  assert.equal(nextStop(stops, 3.5, 1), 2);
  assert.equal(nextStop(stops, 5, 0), 1);
});

test('the address keeps what others put there', () => {
  assert.equal(withState('file:///a/b.html?x=1&ring=4,0#sec', 'ring', '4,3'), 'file:///a/b.html?x=1&ring=4,3#sec');
  assert.equal(withState('http://h/', 'ring', '4,3'), 'http://h/?ring=4,3');
  assert.equal(withState('http://h/?x=1&ring=4,0#sec', 'ring'), 'http://h/?x=1#sec');
  assert.equal(withState('http://h/?ring=4,0', 'ring'), 'http://h/');
});

test('a link opens at the place that has an id, and else where the address says', () => {
  assert.equal(withPlace('file:///a/b.html?ring=4,3#sec', 'fig-ring'), 'file:///a/b.html?ring=4,3#fig-ring');
  assert.equal(withPlace('file:///a/b.html?ring=4,3#sec', undefined), 'file:///a/b.html?ring=4,3#sec');
  assert.equal(withPlace('http://h/?ring=4,3', ''), 'http://h/?ring=4,3');
});

test('ticks are round and few', () => {
  assert.deepEqual(ticks(130e9, 8).map((b) => b / 1e9), [0, 20, 40, 60, 80, 100, 120]);
  for (let end = 1; end < 1e5; end *= 1.37) assert.ok(ticks(end, 6).length <= 7 && ticks(end, 6).length >= 3, String(end));
});

test('the model of a page tells those who listen, once for each change, until they stop', () => {
  const model = pageModel({ step: 0 });
  let calls = 0;
  const handler = () => (calls += 1);
  model.on('change:step', handler);
  model.on('change:step', handler);
  model.set('step', 1);
  model.set('step', 1);
  model.set('other', 1);
  assert.equal(calls, 1);
  assert.equal(model.get('step'), 1);
  model.off('change:step', handler);
  model.set('step', 2);
  assert.equal(calls, 1);
});

test('a colour that look.json lacks stops the build', () => {
  const look = { text: { light: { fill: '#000000', on: '#ffffff' }, dark: { fill: '#ffffff', on: '#000000' } } };
  assert.equal(withFallbacks('a{color:var(--sw-on-text)}', look), 'a{color:var(--sw-on-text, #ffffff)}');
  assert.throws(() => withFallbacks('a{color:var(--sw-nope)}', look), /nope/);
});

test('a message shows a value, or its beginning', () => {
  assert.equal(cut('4,3'), '4,3');
  assert.equal(cut('😀'.repeat(20_000)), `${'😀'.repeat(39)}…`);
  assert.deepEqual([null, NaN, undefined, [1]].map(cut), ['null', 'NaN', 'undefined', '1']);
});

test('a state is drawn whole or not at all', () => {
  const recipes = [{ name: '2+2+12', params: 2, grads: 2, optimizer: 12, description: '' }];
  const traits = { params: 7e9, devices: 8, stage: 0, gpu: 80, recipe: '2+2+12', activations: 0, recipes };
  const view = (/** @type {Record<string, any>} */ damage) =>
    viewOf(budget, soundState(budget, (trait) => ({ ...traits, ...damage })[trait]), { width: 640, id: 'x' });
  assert.match(view({}).drawing, /^<svg/);
  for (const damage of [{ devices: 0 }, { params: 'x' }, { stage: 9 }]) assert.throws(() => view(damage), /must be/, JSON.stringify(damage));
  for (const list of [undefined, null, {}, [null], [{ ...recipes[0], grads: NaN }], [{ ...recipes[0], optimizer: undefined }], [{ ...recipes[0], description: undefined }]]) {
    assert.throws(() => view({ recipes: list }), /^Error: recipes is damaged/, JSON.stringify(list));
  }
});

test('traits are set together or not at all', () => {
  const recipes = [{ name: '2+2+12', params: 2, grads: 2, optimizer: 12, description: '' }];
  const model = pageModel({ params: 7e9, devices: 8, stage: 0, gpu: 80, recipe: '2+2+12', activations: 0, recipes });
  assert.throws(() => setSound(budget, model, { devices: 16, stage: 7 }), /stage must be one of/);
  assert.deepEqual([model.get('devices'), model.get('stage')], [8, 0]);
  setSound(budget, model, { devices: 16, stage: 3 });
  assert.deepEqual([model.get('devices'), model.get('stage')], [16, 3]);
});

test('arrow keys go to the nearest mark in their direction', () => {
  const box = (/** @type {number} */ x, /** @type {number} */ y) => ({ x, y, width: 10, height: 10 });
  const boxes = [box(0, 0), box(20, 2), box(40, 0), box(0, 30), box(25, 31)];
  assert.equal(neighbour(boxes, 0, [1, 0]), 1);
  assert.equal(neighbour(boxes, 1, [1, 0]), 2);
  assert.equal(neighbour(boxes, 2, [1, 0]), -1);
  assert.equal(neighbour(boxes, 0, [0, 1]), 3);
  assert.equal(neighbour(boxes, 4, [0, -1]), 1);
  assert.equal(neighbour(boxes, 4, [-1, 0]), 3);
});

test('what shares a trait takes a value that it can show, and says which it can’t', () => {
  const widget = (/** @type {number} */ most) => /** @type {any} */ ({
    title: `To ${most}`,
    fields: { devices: { kind: 'whole', least: 1, most }, step: { kind: 'whole', least: 0, most: 9 } },
    change: (/** @type {any} */ _, /** @type {string} */ name, /** @type {any} */ value) => ({ [name]: value, step: 0 }),
  });
  const control = new AbortController();
  const join = (/** @type {number} */ most, /** @type {number} */ devices, pinned = false) => {
    const model = pageModel({ devices, step: 5 });
    share('devices', { widget: widget(most), model, pinned }, control.signal);
    return model;
  };
  const [small, large] = [join(8, 4), join(64, 6)];
  assert.deepEqual([small.get('devices'), small.get('step'), large.get('step')], [6, 0, 5], 'the newcomer decides');
  large.set('devices', 32);
  assert.equal(small.get('devices'), 6);
  assert.match(small.get('note'), /^To 64 has devices 32, which isn’t shown here: devices must be a whole number from 1 to 8/);
  large.set('devices', 8);
  assert.deepEqual([small.get('devices'), small.get('note')], [8, '']);
  const pinned = join(64, 3, true);
  assert.deepEqual([small.get('devices'), large.get('devices')], [3, 3]);
  assert.deepEqual([join(64, 7).get('devices'), pinned.get('devices')], [3, 3], 'but not against the address');
  control.abort();
  large.set('devices', 5);
  assert.equal(small.get('devices'), 3);
});
