import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LAYOUTS } from '../../widgets/src/causal-balance/model.js';
import { widget } from '../../widgets/src/ring-attention/index.js';
import { kindOf, pairsIn, sentBy, shares, stepOf } from '../../widgets/src/ring-attention/model.js';
import { alt, prompts } from '../../widgets/src/ring-attention/words.js';
import { controlsOf } from '../../widgets/src/shared/controls.js';
import { fromAddress, toAddress, toCode } from '../../widgets/src/shared/fields.js';
import { soundState, viewOf } from '../../widgets/src/shared/state.js';

/** @typedef {import('../../widgets/src/ring-attention/model.js').Run} Run */

const upTo = (/** @type {number} */ n) => Array.from({ length: n }, (_, i) => i);

/** Positions of each device's tokens, token by token. @param {number} n @param {string} layout @param {number} block */
function dealt(n, layout, block) {
  const half = block / 2;
  const owner = (/** @type {number} */ at) => {
    if (layout === 'striped') return at % n;
    if (layout === 'contiguous') return Math.floor(at / block);
    const piece = Math.floor(at / half);
    return Math.min(piece, 2 * n - 1 - piece);
  };
  return upTo(n).map((device) => upTo(n * block).filter((at) => owner(at) === device));
}

/** A run as Python would record it, with made-up maxima. @param {number} n @param {boolean} [causal] @param {string} [layout] @param {number} [block] @returns {Run} */
function record(n, causal = false, layout = 'contiguous', block = 4) {
  const ids = dealt(n, layout, block);
  return {
    devices: n, causal, layout, tokens: n * block, ids,
    held: upTo(n).map((t) => upTo(n).map((device) => (device - t + n) % n)),
    bytes: upTo(n).map(() => 64 * block),
    pairs: ids.map((mine) => ids.map((keys) => mine.flatMap((i) => keys.filter((j) => !causal || j <= i)).length)),
    top: upTo(n).map((t) => upTo(n).map((device) => (t + device === 0 ? null : 0.5 + t / 4))),
    sums: upTo(n).map((t) => upTo(n).map(() => t + 1)),
    error: 2.4e-7,
  };
}

const state = (/** @type {Run} */ run, /** @type {number} */ step) => ({ devices: run.devices, step, causal: run.causal, layout: run.layout, steps: run });
const svg = (/** @type {Run} */ run, /** @type {number} */ step, width = 640, /** @type {number | undefined} */ from = undefined) =>
  widget.draw(state(run, step), { width, id: 'x', from }).text;
const plain = (/** @type {string} */ text) => text.replaceAll('\u00a0', ' ');
const count = (/** @type {string} */ text, /** @type {RegExp} */ what) => text.match(what)?.length ?? 0;
const asked = (/** @type {string} */ text, /** @type {string} */ key) => plain(text).match(new RegExp(`data-key="${key}"[^>]*aria-label="([^"]*)"`))?.[1];

test('a tile waits for its step, is computed in it and done after it, unless all of it lies in the future', () => {
  const run = record(4, true);
  assert.deepEqual([0, 1, 2, 3].map((block) => stepOf(run, 2, block)), [3, 2, 1, 4]);
  assert.deepEqual([1, 2, 3, 4].map((step) => kindOf(run, 2, 1, step)), ['open', 'now', 'done', 'done']);
  assert.deepEqual([0, 4].map((step) => kindOf(run, 2, 3, step)), ['skipped', 'skipped']);
});

test('pairs and bytes add up', () => {
  for (const n of [2, 3, 8]) {
    for (const layout of LAYOUTS) {
      const run = record(n, true, layout);
      const length = 4 * n;
      assert.equal(pairsIn(run, n, ['done', 'now']), (length * (length + 1)) / 2);
      assert.equal(pairsIn(run, 0, ['open']), (length * (length + 1)) / 2);
      assert.deepEqual([0, 1, 2, n].map((step) => sentBy(run, step, 1)), [0, 0, 256, 256 * (n - 1)]);
    }
  }
});

test('the shape of a tile is the mask, query by query', () => {
  for (const layout of LAYOUTS) {
    for (const block of [2, 4, 8]) {
      const run = record(5, true, layout, block);
      const ids = dealt(5, layout, block);
      for (const [device, mine] of ids.entries()) {
        for (const [other, keys] of ids.entries()) {
          if (!run.pairs[device][other]) continue;
          assert.deepEqual(shares(run, device, other), mine.map((i) => keys.filter((j) => j <= i).length / block));
        }
      }
    }
  }
});

test('a long block is drawn by eight of its queries', () => {
  const run = record(2, true, 'contiguous', 512);
  assert.deepEqual(shares(run, 1, 0), upTo(8).map(() => 1));
  assert.deepEqual(shares(run, 1, 1), upTo(8).map((row) => (64 * row + 33) / 512));
});

test('extremes are drawn with finite numbers', () => {
  for (const width of [256, 320, 559, 560, 760]) {
    for (const n of [2, 5, 8]) {
      for (const layout of LAYOUTS) {
        for (const causal of [false, true]) {
          for (const step of [0, 1, 2, n]) assert.doesNotMatch(svg(record(n, causal, layout), step, width), /NaN|Infinity|undefined|null/);
        }
      }
    }
  }
});

test('the picture has a tile for each pair of blocks, in the colours of the key', () => {
  const text = svg(record(4, true), 2);
  const tiles = [...text.matchAll(/<g data-key="t\d,\d"[\s\S]*?<path d="[^"]*" ([^/]*)\/>/g)].map(([, paint]) => paint);
  assert.equal(tiles.length, 16);
  assert.equal(tiles.filter((paint) => /fill-idle/.test(paint)).length, 6);
  assert.equal(tiles.filter((paint) => /fill-optimizer/.test(paint)).length, 4);
  assert.equal(tiles.filter((paint) => /fill-parameters/.test(paint)).length, 3);
  assert.equal(tiles.filter((paint) => /sw-att-open/.test(paint)).length, 3);
  assert.equal(count(text, /sw-att-tile sw-stroke-text/g), 4, 'one for each device, also where it skips');
  const said = plain(text).replace(/<[^>]*>/g, '');
  for (const part of ['now 48', 'done 40', 'to come 48', 'tiles skipped 6', '64.7 %', 'of 136 pairs done', 'busiest now: 16 pairs', 'Each sent 256 B of 768 B']) {
    assert.ok(said.includes(part), part);
  }
});

test('every part can be asked, by a key of its own', () => {
  const text = svg(record(4, true), 3);
  const keys = [...text.matchAll(/data-key="([^"]*)"/g)].map(([, key]) => key);
  assert.equal(new Set(keys).size, keys.length);
  assert.equal(keys.length, 4 + 4 + 16 + 3);
  assert.equal(asked(text, 'kv1'), 'KV1: keys and values of tokens 4 to 7, 256 B, now on device 3, from device 2.');
  assert.equal(asked(text, 't3,1'), 'Queries of device 3 (tokens 12 to 15) by KV1 (tokens 4 to 7): step 3, now; 16 of 16 pairs, as no query sees a later key.');
  assert.match(asked(text, 't0,2') ?? '', /step 3, skipped; 0 of 16 pairs/);
  assert.equal(asked(text, 'h0'), 'Hop 1 of P − 1 = 3: each device sends the block that it holds to its right neighbour; device 0 sends 256 B.');
  assert.equal(
    asked(text, 'q3'),
    'Device 3 has the queries of tokens 12 to 15. It absorbs KV1; 42 of 58 pairs are done. For query 15 the largest logit m is 1, up from 0.75: ' +
      'its sums so far shrink by e^(old m − new m) = 0.779; ℓ = 3.',
  );
  assert.match(asked(text, 'q1') ?? '', /It skips KV3, which lies in its future; 26 of 26 pairs/);
  assert.match(asked(svg(record(4), 0), 'q1') ?? '', /It absorbs nothing yet; 0 of 64 pairs are done\.$/);
});

test('a query that has seen no key has no maximum, and one that keeps its own is not rescaled', () => {
  const run = record(2);
  assert.doesNotMatch(asked(svg(run, 1), 'q0') ?? '', /largest logit/);
  run.top = [[-1, 1], [-1, 2]];
  assert.match(asked(svg(run, 2), 'q0') ?? '', /largest logit m is −1; ℓ = 2\.$/);
});

test('blocks ride only where the drawing is asked to move and something has travelled', () => {
  const run = record(3);
  assert.equal(count(svg(run, 2), /sw-att-rider/g), 0);
  assert.equal(count(svg(run, 1, 640, 0), /sw-att-rider/g), 0);
  const text = svg(run, 2, 640, 1);
  assert.equal(count(text, /sw-att-rider" style="offset-path:path\(&#39;M|sw-att-rider" style="offset-path:path\('M/g), 3);
  assert.ok(count(text, /sw-att-new/g) >= 3, 'what is absorbed appears when the block has arrived');
});

test('the sentence says what moved, who skips and when it is complete', () => {
  const run = record(4, true);
  assert.equal(widget.say(state(run, 0)), 'Start: 4 devices share 16 tokens. Each keeps its queries and holds its own block of keys and values.');
  assert.match(widget.say(state(run, 1)), /^Step 1 of 4: each device takes its own block and absorbs it\. For query 15/);
  assert.match(widget.say(state(run, 3)), /gets the block of its left neighbour and absorbs it, but for 2 it lies in the future and is skipped\./);
  assert.match(widget.say(state(run, 4)), /Every query has met every key that it may see\.$/);
  assert.match(svg(run, 4), /max \|ring − full\| 2\.4e-7/);
});

test('what the prompts ask can be read', () => {
  assert.equal(prompts.length, 3);
  const busiest = (/** @type {string} */ layout) => [1, 2, 3, 4].map((step) => Number(/busiest now: (\d+)/.exec(svg(record(5, true, layout), step))?.[1]));
  assert.deepEqual(busiest('contiguous'), [10, 16, 16, 16]);
  assert.deepEqual(busiest('striped'), [10, 10, 10, 10]);
  assert.deepEqual(busiest('zigzag'), [10, 8, 8, 8]);
  for (const layout of ['striped', 'zigzag']) assert.match(svg(record(5, true, layout), 2).replace(/<[^>]*>/g, ''), /tiles skipped 0/);
});

test('millions of pairs and blocks of several sizes have room', () => {
  const run = record(2, false, 'contiguous', 2048);
  assert.match(plain(svg(run, 1, 256)), /of 16\.8M pairs done/);
  assert.match(plain(svg(record(2, false, 'contiguous', 200), 1, 256)), /of 160K pairs done/);
  run.bytes = [100, 101];
  assert.match(plain(svg(run, 2, 256)), /Device 0 sent 100 B of 100 B/);
});

test('the table has the block, the pairs and the maximum of each device in each step', () => {
  const { head, rows } = widget.table(state(record(3, true), 1));
  assert.deepEqual(head, ['Step', 'Device 0', 'Device 1', 'Device 2']);
  assert.deepEqual(rows, [[1, 'KV0, 10, –', 'KV1, 10, 0.5', 'KV2, 10, 0.5'], [2, 'KV2, 0, 0.75', 'KV0, 16, 0.75', 'KV1, 16, 0.75'], [3, 'KV1, 0, 1', 'KV2, 0, 1', 'KV0, 16, 1']]);
});

test('the image has a name that says who holds what', () => {
  assert.equal(
    plain(alt(state(record(2, true), 2))),
    'Ring attention of 2 devices over 8 tokens, contiguous, causal, after step 2 of 2: device 0 holds block 1, device 1 holds block 0. 36 of 36 pairs of query and key are computed',
  );
});

test('a page shows the run that belongs to its controls; until a kernel has recorded one, the old one stands', () => {
  const runs = { '3,1,zigzag': record(3, true, 'zigzag') };
  const asks = { devices: 3, step: 3, causal: true, layout: 'zigzag', steps: record(2) };
  assert.equal(widget.derive?.({ ...asks, runs }).steps, runs['3,1,zigzag']);
  assert.equal(widget.derive?.(asks).steps, asks.steps);
  const shown = /** @type {any} */ (widget.derive?.(asks));
  assert.match(widget.say(shown), /^Step 2 of 2/);
  assert.equal(controlsOf(widget, shown).at(-1)?.value, 2);
  assert.deepEqual(widget.change?.(asks, 'devices', 5), { devices: 5, step: 0 });
  assert.deepEqual(widget.change?.(asks, 'causal', false), { causal: false });
});

test('the address and the code make the same state', () => {
  const traits = { devices: 5, step: 5, causal: true, layout: 'striped' };
  assert.equal(toAddress(widget, traits), '5,5,1,striped');
  assert.deepEqual(fromAddress(widget, '5,5,1,striped'), traits);
  assert.equal(toCode(widget, traits), 'RingAttention(devices=5, step=5, causal=True, layout="striped")');
});

test('only a state that a control or a kernel can make is sound', () => {
  const run = record(2, true);
  const good = state(run, 1);
  const read = (/** @type {any} */ traits) => soundState(widget, (name) => traits[name]);
  read(good);
  for (const [change, message] of /** @type {[object, RegExp][]} */ ([
    ...[1, 9, 2.5, '2', null].map((devices) => [{ devices }, /^Error: devices must be/]),
    ...[-1, 0.5, '1', NaN].map((step) => [{ step }, /^Error: step must be/]),
    [{ step: 3 }, /^Error: 2 devices have steps 0 to 2, not 3/],
    [{ causal: 1 }, /^Error: causal must be true or false/],
    [{ layout: 'spiral' }, /^Error: layout must be one of/],
    ...[
      null, {}, 'x', { ...run, tokens: undefined }, { ...run, ids: [[0]] }, { ...run, error: null },
      { ...run, held: [[0, 1]] }, { ...run, held: [] }, { ...run, bytes: [1, NaN] },
      { ...run, pairs: [[1, 2], [3, NaN]] }, { ...run, top: [[1, 1], [1, NaN]] }, { ...run, sums: [[1, 1], [1, null]] },
    ].map((steps) => [{ steps, step: 2 }, /^Error: steps or runs is damaged/]),
  ])) {
    assert.throws(() => viewOf(widget, read({ ...good, ...change }), { width: 640, id: 'x' }), message, JSON.stringify(change));
  }
});
