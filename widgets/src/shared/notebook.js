// A widget as the module that a notebook loads for each model: it writes the frame and brings it to life.
import { toCode } from './fields.js';
import { frame } from './frame.js';
import { FRAME_WIDTH, mount } from './mount.js';
import { soundState } from './state.js';
import { markup } from './text.js';
import { watchTheme } from './theme.js';

/** An id for what labels and patterns refer to. A counter won't do: a notebook loads a module for each model. */
const newId = () => `sw${Math.random().toString(36).slice(2, 10)}`;

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {import('./types.d.ts').Words<S>} words
 */
export const notebook = (widget, words) => ({
  /** @param {{ model: import('./types.d.ts').Model, el: HTMLElement, signal: AbortSignal }} host */
  render({ model, el, signal: outer }) {
    const control = new AbortController();
    const { signal } = control;
    const stop = () => control.abort();
    outer?.addEventListener('abort', stop, { signal });
    signal.addEventListener('abort', () => el.replaceChildren());
    el.classList.add('sw-host'); // in a row of others it would have no width of its own
    try {
      const state = soundState(widget, (trait) => model.get(trait));
      el.innerHTML = frame(widget, words, state, { id: newId(), width: FRAME_WIDTH, copy: 'Copy code' }).text;
      const root = /** @type {HTMLElement} */ (el.firstElementChild);
      const code = words.code ?? ((/** @type {S} */ made) => toCode(widget, made));
      mount(widget, { model, root, signal, code, theme: watchTheme(root, signal) });
    } catch (error) {
      el.innerHTML = markup`<p class="sw-root" role="alert">${widget.title} can’t be drawn: ${/** @type {Error} */ (error).message}</p>`.text;
    }
    return stop;
  },
});
