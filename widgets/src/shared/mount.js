// Puts a widget into a host's element: draws the state, turns controls into traits and traits into drawings.
import { readAddress, withPlace, writeAddress } from './address.js';
import { controlBar, nextStop, showControls, showPlaying } from './controls.js';
import { copyText } from './copy.js';
import { makeMessage } from './message.js';
import { makePlayer } from './player.js';
import { stateReader } from './state.js';
import { cut, markup } from './text.js';
import { watchTheme } from './theme.js';

/** @typedef {import('./types.d.ts').Model} Model */

/** Width of a first frame, which is drawn before anything can be measured. */
export const FRAME_WIDTH = 640;
const NARROWEST = 256;
const ADDRESS_DELAY = 250; // browsers refuse to rewrite the address too often

/** An id for what labels and patterns refer to. A counter won't do: a notebook loads a module for each model. */
const newId = () => `sw${Math.random().toString(36).slice(2, 10)}`;

/**
 * The whole of a widget as text: what node prerenders, and what the host fills in.
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {S} state
 * @param {{ id: string, width: number, copy: string }} options
 */
export const frame = (widget, state, { id, width, copy }) => markup`<div class="sw-root ${widget.className}">
<div class="sw-controls" role="group" aria-label="${widget.title}">${controlBar(widget.controls(state), id)}</div>
<div class="sw-drawing">${widget.draw(state, { width, id })}</div>
<output class="sw-said" aria-live="polite">${widget.say(state)}</output>
<div class="sw-try"><p class="sw-try-title">Try this</p><ol class="sw-prompts">${widget.prompts.map(
  (prompt) => markup`<li class="sw-prompt">${prompt}</li>`,
)}</ol></div>
<div class="sw-foot"><button type="button" class="sw-copy" data-lm-suppress-shortcuts="true">${copy}</button><span class="sw-message" role="status"></span></div>
</div>`;

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {{ model: Model, el: HTMLElement, signal: AbortSignal, addressKey?: string }} host
 *   `addressKey` is given by a page, whose address may carry the state
 * @returns {() => void} takes everything away again
 */
export function mount(widget, { model, el, signal: outer, addressKey }) {
  const control = new AbortController();
  const { signal } = control;
  const stopAll = () => control.abort();
  outer.addEventListener('abort', stopAll, { signal });
  const id = newId();
  const read = stateReader(widget, model);
  const problem = addressKey ? applyAddress(widget, model, addressKey, read()) : '';
  let state = read();

  el.innerHTML = frame(widget, state, { id, width: measure(el), copy: addressKey ? 'Copy link' : 'Copy code' }).text;
  const root = /** @type {HTMLElement} */ (el.querySelector('.sw-root'));
  const [drawing, said, line] = ['.sw-drawing', '.sw-said', '.sw-message'].map(
    (part) => /** @type {HTMLElement} */ (root.querySelector(part)),
  );
  const tell = makeMessage(line, signal);
  tell(problem);
  const theme = addressKey ? () => {} : watchTheme(root, signal);
  let width = measure(drawing);
  /** @type {number | undefined} */
  let shownStep;

  const draw = () => {
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const moved = !calm && shownStep !== undefined && state.step === shownStep + 1;
    drawing.innerHTML = widget.draw(state, { width, id, ...(moved && { from: shownStep }) }).text;
    shownStep = state.step;
  };
  let phase = widget.phase?.(state);
  // A sentence takes longer to hear than a step takes to play: while it plays, another part of the run and its
  // end are announced, and nothing between.
  const say = () => {
    const [before, sentence] = [phase, widget.say(state)];
    phase = widget.phase?.(state);
    said.setAttribute('aria-live', player?.playing() && phase === before ? 'off' : 'polite');
    if (said.textContent !== sentence) said.textContent = sentence;
  };
  const show = () => {
    state = read();
    draw();
    showControls(root, widget.controls(state));
    say();
  };

  // Several traits can change at once, so drawing waits for the end of the task that changes them.
  let due = false;
  const changed = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      if (!signal.aborted) show();
    });
  };
  for (const trait of widget.traits) model.on(`change:${trait}`, changed);

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let addressTimer;
  /** @param {Partial<S>} traits */
  const set = (traits) => {
    for (const [name, value] of Object.entries(traits)) model.set(name, value);
    model.save_changes();
    tell('');
    if (!addressKey) return;
    clearTimeout(addressTimer);
    addressTimer = setTimeout(() => writeAddress(addressKey, widget.toAddress(read())), ADDRESS_DELAY);
  };

  const player = listen({ widget, root, signal, set, read });
  const copy = /** @type {HTMLElement} */ (root.querySelector('.sw-copy'));
  copy.addEventListener(
    'click',
    async () => {
      clearTimeout(addressTimer);
      const text = addressKey ? linkTo(el, writeAddress(addressKey, widget.toAddress(read()))) : widget.code(read());
      const done = await copyText(text);
      if (done) tell(addressKey ? 'The link is copied.' : 'The code is copied.', true);
      else tell(`Copy this: ${text}`);
    },
    { signal },
  );

  const size = new ResizeObserver(() => {
    theme();
    const next = measure(drawing);
    if (next === width) return;
    width = next;
    shownStep = undefined;
    draw();
  });
  size.observe(drawing);
  showControls(root, widget.controls(state));
  draw();

  signal.addEventListener('abort', () => {
    player?.stop();
    clearTimeout(addressTimer);
    size.disconnect();
    for (const trait of widget.traits) model.off(`change:${trait}`, changed);
    el.replaceChildren();
  });
  return stopAll;
}

/** Whoever opens the link shall see the widget, and not the top of the page. @param {HTMLElement} el @param {string} href */
const linkTo = (el, href) => withPlace(href, el.closest('[id^="fig-"]')?.id);

/** @param {HTMLElement} element */
const measure = (element) => Math.max(NARROWEST, Math.round(element.clientWidth) || FRAME_WIDTH);

/**
 * Take the state from the address; what is wrong with it is said, and the page's own state stays.
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {Model} model
 * @param {string} key
 * @param {S} state
 */
function applyAddress(widget, model, key, state) {
  const text = readAddress(key);
  if (text === null) return '';
  try {
    for (const [name, value] of Object.entries(widget.fromAddress(text, state))) model.set(name, value);
    return '';
  } catch (error) {
    return `The address says ${key}=${cut(text)}, which is ignored: ${/** @type {Error} */ (error).message}`;
  }
}

/**
 * Turn what people do into traits.
 * @template {Record<string, any>} S
 * @param {{ widget: import('./types.d.ts').Widget<S>, root: HTMLElement, signal: AbortSignal, set: (traits: Partial<S>) => void, read: () => S }} options
 */
function listen({ widget, root, signal, set, read }) {
  const run = () => widget.controls(read()).find((control) => control.kind === 'stepper');
  const stepTo = (/** @type {number} */ step) => {
    const stepper = run();
    if (!stepper) return;
    const next = Math.min(stepper.last, Math.max(0, step));
    if (next !== stepper.value) set(widget.change(read(), stepper.name, next));
  };
  const player =
    run() &&
    makePlayer({
      root,
      signal,
      step: (starting) => {
        const { value, last } = /** @type {import('./types.d.ts').StepperControl} */ (run());
        if (value === last && !starting) return false;
        const next = value === last ? 0 : value + 1;
        stepTo(next);
        return next < last;
      },
      changed: (playing) => showPlaying(root, playing),
    });

  root.addEventListener(
    'input',
    (event) => {
      const input = /** @type {HTMLInputElement} */ (event.target);
      const control = widget.controls(read()).find(({ name }) => name === input.dataset.name);
      if (!control) return;
      player?.stop();
      const value =
        control.kind === 'range'
          ? nextStop(control.stops, control.value, Number(input.value))
          : control.kind === 'select' ? input.value : Number(input.value);
      set(widget.change(read(), control.name, value));
    },
    { signal },
  );
  root.addEventListener(
    'click',
    (event) => {
      const button = /** @type {Element} */ (event.target).closest?.('[data-step]');
      const stepper = run();
      if (!(button instanceof HTMLElement) || !stepper) return;
      button.focus(); // Safari doesn't, and playing stops when the focus leaves
      if (button.dataset.step === 'play') player?.toggle();
      else move(button.dataset.step ?? '', stepper.value, stepper.last);
    },
    { signal },
  );
  root.addEventListener(
    'keydown',
    (event) => {
      const stepper = run();
      if (!stepper || event.altKey || event.ctrlKey || event.metaKey) return;
      if (!(event.target instanceof HTMLElement) || !event.target.matches('[data-step]')) return;
      const action = KEYS[event.key];
      if (!action) return;
      event.preventDefault();
      move(action, stepper.value, stepper.last);
    },
    { signal },
  );
  /** @param {string} action @param {number} value @param {number} last */
  function move(action, value, last) {
    player?.stop();
    stepTo({ first: 0, previous: value - 1, next: value + 1, last }[action] ?? value);
  }
  return player;
}

/** @type {Record<string, string>} */
const KEYS = {
  ArrowLeft: 'previous', ArrowDown: 'previous', ArrowRight: 'next', ArrowUp: 'next', Home: 'first', End: 'last',
};
