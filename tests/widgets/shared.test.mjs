import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageModel } from '../../widgets/src/host.js';
import { withFallbacks } from '../../widgets/src/look-css.js';
import { withPlace, withState } from '../../widgets/src/shared/address.js';
import { nearest, nextStop } from '../../widgets/src/shared/controls.js';
import { formatBytes, formatCount, plural } from '../../widgets/src/shared/format.js';
import { ticks } from '../../widgets/src/shared/svg.js';
import { stateReader } from '../../widgets/src/shared/state.js';
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

test('what is read is the last sound state, and without one there is no widget', () => {
  const recipes = [{ name: '2+2+12', params: 2, grads: 2, optimizer: 12, description: '' }];
  const traits = { params: 7e9, devices: 8, stage: 0, gpu: 80, recipe: '2+2+12', activations: 0, recipes };
  for (const damage of [{ devices: 0 }, { params: 'x' }, { stage: 9 }, { recipes: undefined }]) {
    assert.throws(() => stateReader(budget, pageModel({ ...traits, ...damage })), /must be/, JSON.stringify(damage));
  }
  const model = pageModel({ ...traits });
  const read = stateReader(budget, model);
  model.set('stage', 3);
  assert.equal(read().stage, 3);
  model.set('stage', NaN);
  model.set('devices', 16);
  assert.deepEqual([read().stage, read().devices], [3, 8]);
  model.set('stage', 1);
  assert.deepEqual([read().stage, read().devices], [1, 16]);
});
