// The page's host: gives each widget on a page the model that a kernel would give it in a notebook.
import MemoryBudget from './memory-budget/index.js';
import RingAllReduce from './ring-all-reduce/index.js';

/** @typedef {import('./shared/types.d.ts').Model} Model */

/** @type {Record<string, any>} */
const WIDGETS = { MemoryBudget, RingAllReduce };

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

/**
 * Bring a figure to life.
 * @param {HTMLElement} figure
 * @param {Model} [model] share one to keep two figures in step
 * @returns {() => void} takes the widget away and leaves its first frame's state
 */
export function mount(figure, model) {
  const module = WIDGETS[figure.dataset.widget ?? ''];
  const source = figure.querySelector('script[type="application/json"]');
  const el = /** @type {HTMLElement | null} */ (figure.querySelector('.shardwise-mount'));
  if (!module || !source || !el) throw new Error(`no widget called ${figure.dataset.widget}`);
  const control = new AbortController();
  module.render({
    model: model ?? pageModel(JSON.parse(source.textContent ?? '')),
    el,
    signal: control.signal,
    addressKey: addressKey(figure, module.widget.addressKey),
  });
  figure.dataset.ready = '';
  return () => {
    control.abort();
    delete figure.dataset.ready;
  };
}

function mountAll() {
  for (const figure of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll('figure.shardwise-widget'))) {
    try {
      if (figure.dataset.ready === undefined) mount(figure);
    } catch (error) {
      // One broken widget mustn't take the others along; its prerendered frame stays.
      figure.dataset.failed = '';
      console.error('shardwise:', error);
    }
  }
}

if (typeof document !== 'undefined') {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', mountAll, { once: true });
  else mountAll();
}
