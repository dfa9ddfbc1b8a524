// The page's host: gives each widget on a page the model that a kernel would give it in a notebook.
import { widget as MemoryBudget } from './memory-budget/index.js';
import { widget as RingAllReduce } from './ring-all-reduce/index.js';
import { widget as CausalBalance } from './causal-balance/index.js';
import { widget as RingAttention } from './ring-attention/index.js';
import { widget as ZeroStages } from './zero-stages/index.js';
import { widget as ContextScaling } from './context-scaling/index.js';
import { widget as PipelineSchedule } from './pipeline-schedule/index.js';
import { widget as PipelineBubble } from './pipeline-bubble/index.js';
import { widget as MegatronMLP } from './megatron-mlp/index.js';
import { widget as TensorParallelCost } from './tensor-parallel-cost/index.js';
import { readAddress } from './shared/address.js';
import { share } from './shared/link.js';
import { mount as bringToLife, widthOf } from './shared/mount.js';
import { sealOf } from './shared/seal.js';

/** @typedef {import('./shared/types.d.ts').Model} Model */

/** @type {Record<string, import('./shared/types.d.ts').Widget<any>>} */
const WIDGETS = {
  MemoryBudget,
  RingAllReduce,
  CausalBalance,
  RingAttention,
  ZeroStages,
  ContextScaling,
  PipelineSchedule,
  PipelineBubble,
  MegatronMLP,
  TensorParallelCost,
};

/**
 * State with listeners; there is nobody to save it for.
 * @param {Record<string, unknown>} state
 * @returns {Model}
 */
export function pageModel(state) {
  /** @type {Map<string, Set<() => void>>} */
  const listeners = new Map();
  return {
    get: (name) => state[name],
    set(name, value) {
      if (Object.is(state[name], value)) return;
      state[name] = value;
      for (const handler of [...(listeners.get(`change:${name}`) ?? [])]) handler();
    },
    on(event, handler) {
      listeners.set(event, (listeners.get(event) ?? new Set()).add(handler));
    },
    off(event, handler) {
      const set = listeners.get(event);
      set?.delete(handler);
      if (!set?.size) listeners.delete(event);
    },
    save_changes() {},
  };
}

/** A second widget of a kind has its own key in the address. @param {HTMLElement} figure @param {string} key */
function addressKey(figure, key) {
  const same = [...document.querySelectorAll(`figure[data-widget="${figure.dataset.widget}"]`)];
  const place = same.indexOf(figure);
  return place > 0 ? `${key}${place + 1}` : key;
}

/** How to end the life of a figure. @type {WeakMap<HTMLElement, () => void>} */
const lives = new WeakMap();

/**
 * Bring a figure to life, and end the one that it has.
 * @param {HTMLElement} figure
 * @param {Model} [shared] share one to keep two figures in step
 * @param {number} [width] of its drawing, if it is known
 * @returns {() => void} takes the life away again; what was drawn stays
 */
export function mount(figure, shared, width) {
  const widget = WIDGETS[figure.dataset.widget ?? ''];
  const root = /** @type {HTMLElement | null} */ (figure.querySelector('.sw-root'));
  if (!widget || !root) throw new Error(`there is no widget ${figure.dataset.widget}`);
  const [state, given] = ['script[type="application/json"]', '.sw-given'].map((part) => figure.querySelector(part)?.textContent ?? '');
  const model = shared ?? pageModel(JSON.parse(state));
  Object.assign(widget, Object.assign(widget.given, JSON.parse(given)));
  lives.get(figure)?.();
  const control = new AbortController();
  const key = addressKey(figure, widget.addressKey);
  if (shared || root.dataset.seal !== sealOf(state + given)) delete root.dataset.drawn; // the frame's state may be another
  delete root.dataset.seal; // and will be, once it lives
  try {
    bringToLife(widget, { model, root, signal: control.signal, addressKey: key, width });
  } catch (error) {
    control.abort();
    throw error;
  }
  for (const trait of figure.dataset.link?.split(',') ?? []) {
    share(trait, { widget, model, pinned: readAddress(key) !== null }, control.signal);
  }
  figure.dataset.ready = '';
  const stop = () => {
    control.abort();
    delete figure.dataset.ready;
  };
  lives.set(figure, stop);
  return stop;
}

/** What a figure shows is its first frame; here it says that it stays so. @param {HTMLElement} figure @param {unknown} error */
function fail(figure, error) {
  figure.dataset.failed = '';
  const line = figure.querySelector('.sw-message') ?? figure.appendChild(document.createElement('p'));
  line.textContent = `This widget doesn’t run, and what is drawn stays as it is: ${error instanceof Error ? error.message : error}`;
}

/**
 * All that wait for life, with the widths of their drawings. They are measured before the first is drawn: to measure
 * between two drawings would lay out the page anew.
 * @returns {[HTMLElement, number | undefined][]}
 */
const waiting = () => [...document.querySelectorAll('figure.shardwise-widget:not([data-ready])')].map((one) => {
  const figure = /** @type {HTMLElement} */ (one);
  return [figure, figure.querySelector('.sw-drawing') ? widthOf(figure) : undefined];
});

/** @param {[HTMLElement, number | undefined]} one */
function wake([figure, width]) {
  try {
    mount(figure, undefined, width);
  } catch (error) {
    fail(figure, error); // one broken widget mustn't take the others along
  }
}

export const mountAll = () => waiting().forEach(wake);

/** Bring all to life once the page with their first frames is painted, one a task, or as soon as someone does something. */
function start() {
  /** @type {[HTMLElement, number | undefined][] | undefined} */
  let queue;
  const next = () => {
    const one = (queue ??= waiting()).shift();
    if (one) wake(one);
    return one;
  };
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => next() && port2.postMessage(0);
  requestAnimationFrame(() => port2.postMessage(0));
  // Before the event gets where it goes, so that what it meant to do is done.
  for (const event of ['pointerdown', 'focusin', 'click']) addEventListener(event, () => { while (next()); }, { capture: true, once: true });
}

if (typeof document !== 'undefined') {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start, { once: true });
  else start();
}
