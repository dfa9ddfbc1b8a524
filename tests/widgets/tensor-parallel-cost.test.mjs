import assert from 'node:assert/strict';
import { test } from 'node:test';
import { widget } from '../../widgets/src/tensor-parallel-cost/index.js';
import { CLUSTERS, DEVICES, TOKENS, WIDTHS, cost } from '../../widgets/src/tensor-parallel-cost/model.js';
import { alt, prompts } from '../../widgets/src/tensor-parallel-cost/words.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';

const links = DEVICES.map((n) => /** @type {[number, number]} */ (n > 8 ? [14e-6, 200e9] : [3e-6, 300e9]));
const clusters = { A100: { flops: 2e14, node: 8, links }, H100: { flops: 6e14, node: 8, links } };
const base = { devices: 8, d_model: 12288, tokens: 2048, cluster: 'A100', clusters };
const state = (change = {}) => {
  const traits = /** @type {Record<string, unknown>} */ ({ ...base, ...change });
  return soundState(widget, (trait) => traits[trait]);
};
const svg = (change = {}, width = 640) => viewOf(widget, state(change), { width, id: 'x' }).drawing.replaceAll('\u00a0', ' ');
const asked = (/** @type {string} */ text, /** @type {string} */ key) => text.match(new RegExp(`data-key="${key}"[^>]*aria-label="([^"]*)"`))?.[1];
const heights = (/** @type {string} */ text, /** @type {string} */ key) =>
  DEVICES.map((n) => Number(text.match(new RegExp(`data-key="${key}${n}"[^>]*><rect[^>]*height="([^"]*)"`))?.[1]));

test('parameters halve, bytes rise to a ceiling, and the share of the time rises with every doubling', () => {
  const all = [...DEVICES, Infinity].map((devices) => cost({ ...base, devices }));
  all.slice(1).forEach((one, i) => {
    assert.ok(one.params < all[i].params && one.bytes > all[i].bytes && one.share > all[i].share);
    if (i < 6) assert.ok(Math.abs(one.params / all[i].params - 0.5) < 0.01);
  });
  const ceiling = all[7].bytes;
  assert.equal(ceiling, 4 * 2 * (2048 * 12288 * 2));
  assert.deepEqual(all.slice(0, 7).map(({ bytes }) => bytes / ceiling), DEVICES.map((n) => 1 - 1 / n));
});

test('the prompts have the answers that they ask for', () => {
  const [full, half] = [cost(base), cost({ ...base, d_model: 6144 })];
  assert.ok(Math.abs(half.params / full.params - 0.25) < 1e-3);
  assert.equal(half.bytes / full.bytes, 0.5);
  const [in8, in64, many] = [cost(base), cost({ ...base, devices: 64 }), cost({ ...base, tokens: 131072 })];
  assert.ok(in64.bytes < 1.13 * in8.bytes && in64.share > 5 * in8.share, 'the time is the reason, not the bytes');
  assert.ok(many.bytes === 64 * in8.bytes && many.share < in8.share, 'hops are the same for many tokens');
  assert.equal(prompts.length, 3);
});

test('bars are in proportion and numbers stand above them', () => {
  const text = svg();
  const [params, bytes] = [heights(text, 'params'), heights(text, 'bytes')];
  assert.ok(Math.abs(params[1] / params[0] - 0.5) < 0.01 && Math.abs(bytes[2] / bytes[1] - 1.5) < 0.01);
  for (const label of ['1.81B', '227M', '352 MB', '403 MB', '73.7K']) assert.match(text, new RegExp(`>${label}<`), label);
});

test('the chosen number of devices is filled and strong, the others are outlines', () => {
  for (const devices of DEVICES) {
    const text = svg({ devices });
    for (const key of ['params', 'bytes', 'share']) {
      const filled = [...text.matchAll(new RegExp(`data-key="${key}([^"]*)"[^>]*><rect[^>]*fill="url`, 'g'))].map(([, n]) => Number(n));
      assert.deepEqual(filled, [devices]);
    }
  }
});

test('all can be asked, and the answer has the formula', () => {
  const text = svg();
  assert.equal(text.match(/data-key="/g)?.length, 3 * 8);
  assert.equal(asked(text, 'bytes16'), '16 devices: 377 MB: 4 all-reduces of 2(N−1)/N · tokens · d · 2 B.');
  assert.match(asked(text, 'params1') ?? '', /^1 device: 1.81B: \(12d² \+ 7d\)\/N of split matrices/);
  assert.match(asked(text, 'share2') ?? '', /^2 devices: 1.23 %: 4 all-reduces of 2 hops take 695 µs beside 55.7 ms of matrix products/);
  assert.match(asked(text, 'shareInfinity') ?? '', /^Ever more devices: 100 %: 4 all-reduces of ∞ hops/);
});

test('nothing is drawn outside the drawing, at the ends of every control', () => {
  for (const width of [256, 288, 559, 560, 760]) {
    for (const devices of [1, 8, 64]) {
      for (const d_model of [WIDTHS[0], WIDTHS[WIDTHS.length - 1]]) {
        for (const tokens of [1, TOKENS[0], TOKENS[TOKENS.length - 1]]) {
          for (const cluster of CLUSTERS) {
            const text = svg({ devices, d_model, tokens, cluster }, width);
            for (const [, x, y, w, h] of text.matchAll(/<rect x="([^"]*)" y="([^"]*)" width="([^"]*)" height="([^"]*)"/g)) {
              assert.ok(Number(x) >= 0 && Number(x) + Number(w) <= width && Number(y) >= 40 && Number(h) > 0);
            }
          }
        }
      }
    }
  }
});

test('the sentence has the numbers of the panels', () => {
  const said = widget.say(state({ devices: 16 })).replaceAll('\u00a0', ' ');
  assert.match(said, /^16 devices: each keeps 113M of the layer’s 1.81B parameters and sends 377 MB for a micro-batch, of at most 403 MB/);
  assert.match(said, /as the ring leaves the node\.$/);
  assert.doesNotMatch(widget.say(state()), /leaves the node/);
  assert.match(alt(state()).replaceAll('\u00a0', ' '), /on 8 devices a layer of width 12288 leaves 227M parameters on each, which sends 352 MB of at most 403 MB/);
});

test('the table has a row for every number of devices', () => {
  const { head, rows } = widget.table(state());
  assert.deepEqual(rows.map(([n]) => n), DEVICES);
  assert.ok(rows.every((row) => row.length === head.length));
  assert.deepEqual(rows[3].slice(0, 3), [8, '226,576,896', '352\u00a0MB']);
});

test('address and code', () => {
  assert.equal(toAddress(widget, state()), '8,12288,2048,A100');
  const { clusters: _, ...traits } = base;
  assert.deepEqual(fromAddress(widget, '8,12288,2048,A100'), traits);
  assert.equal(toCode(widget, state()), 'TensorParallelCost(devices=8, d_model=12288, tokens=2048, cluster="A100")');
});

test('a damaged state is refused', () => {
  for (const change of [
    { devices: 3 }, { devices: '8' }, { d_model: 1000 }, { d_model: 1025 }, { tokens: 0 }, { tokens: 0.5 }, { cluster: 'B200' },
    { clusters: undefined }, { clusters: {} }, { clusters: { A100: {} } }, { clusters: { A100: { ...clusters.A100, flops: 'x' } } },
    { clusters: { A100: { ...clusters.A100, links: [] } } },
  ]) {
    assert.throws(() => viewOf(widget, state(change), { width: 640, id: 'x' }), JSON.stringify(change));
  }
});
