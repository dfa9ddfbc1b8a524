// Brings a frame to life: draws the state, and turns controls into traits and traits into drawings.
import { readAddress, withPlace, writeAddress } from './address.js';
import { makeAsking } from './asking.js';
import { controlsOf, showControls } from './controls.js';
import { copyText } from './copy.js';
import { fromAddress, toAddress } from './fields.js';
import { listen } from './listen.js';
import { makeMessage } from './message.js';
import { setSound, soundState, traitsOf, viewOf } from './state.js';
import { liveTable } from './table.js';
import { cut, say } from './text.js';

/** @typedef {import('./types.d.ts').Model} Model */

/** Width of a first frame, which is drawn before anything can be measured: that of a wide page. */
export const FRAME_WIDTH = 726;
const NARROWEST = 256;
const ADDRESS_DELAY = 250; // browsers refuse to rewrite the address too often

/** How wide a drawing may be. @param {HTMLElement} root */
export const widthOf = (root) => Math.max(NARROWEST, root.querySelector('.sw-drawing')?.clientWidth || FRAME_WIDTH);

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {{ model: Model, root: HTMLElement, signal: AbortSignal, addressKey?: string, width?: number, code?: (state: S) => string, theme?: () => void }} host
 *   `root` holds the widget's frame, as node or a notebook's module has written it;
 *   `addressKey` is given by a page, whose address may carry the state, and so is the drawing's `width`, if it is
 *   known; a notebook gives the Python that makes a state, and `theme`, which sees whether the ground is light or
 *   dark, as it has no style of ours
 */
export function mount(widget, { model, root, signal, addressKey, width: known, code, theme }) {
  const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (root.querySelector(name));
  const [drawing, said] = [part('.sw-drawing'), part('.sw-said')];
  const sound = () => soundState(widget, (trait) => model.get(trait));
  const measure = () => widthOf(root);
  let width = known ?? measure();
  let state = sound();
  const opened = state;
  let intact = Math.abs(Number(root.dataset.drawn) - width) <= 1;
  /** The state of now, or the last sound one: a change is drawn at the end of the task that makes it. */
  const read = () => {
    try {
      return sound();
    } catch {
      return state;
    }
  };
  const problem = addressKey ? applyAddress(widget, model, addressKey) : '';
  if (addressKey && readAddress(addressKey) !== null) {
    state = sound();
    intact = false;
  }

  /** @type {number | undefined} */
  let shownStep;
  /** @type {string | undefined} */
  let shownPhase;
  /** Keep in mind what is shown. @param {import('./types.d.ts').Control[]} controls */
  const remember = (controls) => {
    shownStep = /** @type {number | undefined} */ (stepperOf(controls)?.value);
    shownPhase = widget.phase?.(state);
    showControls(root, controls);
  };
  /** Show a state as a whole, or throw and leave all as it is. @param {S} next */
  const show = (next) => {
    const stepper = stepperOf(controlsOf(widget, next));
    const calm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    const moved = !calm && stepper?.value === Number(shownStep) + 1;
    const view = viewOf(widget, next, { width, id: root.dataset.id ?? '', ...(moved && { from: shownStep }) });
    state = next;
    redraw(() => {
      drawing.innerHTML = view.drawing;
      drawing.style.containIntrinsicHeight = `${drawing.firstElementChild?.getAttribute('height')}px`; // see frame.js
    });
    // Played fast, a motion has to end before the next one begins.
    const speed = actions.speed();
    if (moved && speed > 2) for (const motion of drawing.getAnimations({ subtree: true })) motion.playbackRate = speed / 2;
    // A sentence takes longer to hear than a step takes to play: while it plays, another part of the run and its
    // end are announced, and nothing between.
    said.setAttribute('aria-live', actions.playing() && view.phase === shownPhase ? 'off' : 'polite');
    say(said, view.said);
    remember(view.controls);
    table();
  };

  // Several traits can change at once, so drawing waits for the end of the task that changes them.
  let due = false;
  const changed = () => {
    if (due) return;
    due = true;
    queueMicrotask(() => {
      due = false;
      try {
        if (!signal.aborted) show(sound());
      } catch {
        // A script may set anything, and a kernel changes traits that belong together one after the other and says
        // itself what is wrong with what it refuses: what is shown stays as it is.
        showControls(root, controlsOf(widget, state));
      }
    });
  };

  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let addressTimer;
  const address = () => writeAddress(addressKey ?? '', toAddress(widget, read()));
  /** @param {Partial<S>} traits */
  const set = (traits) => {
    if (model.get('note')) model.set('note', '');
    for (const [name, value] of Object.entries(traits)) model.set(name, value);
    model.save_changes();
    tell('');
    clearTimeout(addressTimer);
    if (addressKey) addressTimer = setTimeout(address, ADDRESS_DELAY);
  };

  const tell = makeMessage(part('.sw-message'), signal);
  const redraw = makeAsking(drawing, part('.sw-asked'), signal);
  const table = liveTable(/** @type {HTMLDetailsElement} */ (part('.sw-table')), signal, () => widget.table(state));
  const actions = listen({ widget, root, signal, set, read });
  if (intact) {
    redraw(() => {});
    remember(controlsOf(widget, state)); // a browser that comes back to a page sets them as they were left
  } else show(state);
  tell(problem);

  /** @type {Record<string, () => unknown>} */
  const buttons = {
    async copy() {
      clearTimeout(addressTimer);
      const text = addressKey ? linkTo(root, address()) : code?.(read()) ?? '';
      const done = await copyText(text);
      if (done) tell(addressKey ? 'The link is copied.' : 'The code is copied.', true);
      else tell(`Copy this: ${text}`);
    },
    reset() {
      actions.stop();
      set(/** @type {Partial<S>} */ (Object.fromEntries(Object.keys(widget.fields).map((name) => [name, opened[name]]))));
      clearTimeout(addressTimer);
      if (addressKey) writeAddress(addressKey);
    },
  };
  const press = (/** @type {Event} */ { target }) => buttons[/** @type {HTMLElement} */ (target).dataset?.do ?? '']?.();
  root.addEventListener('click', press, { signal });

  const size = new ResizeObserver(() => {
    theme?.();
    const next = measure();
    if (next === width) return;
    width = next;
    shownStep = undefined;
    show(state);
  });
  size.observe(drawing);
  const note = () => tell(model.get('note') ?? '');
  const heard = [...traitsOf(widget).map((trait) => /** @type {const} */ ([trait, changed])), /** @type {const} */ (['note', note])];
  for (const [trait, handler] of heard) model.on(`change:${trait}`, handler);
  signal.addEventListener('abort', () => {
    actions.stop();
    clearTimeout(addressTimer);
    size.disconnect();
    for (const [trait, handler] of heard) model.off(`change:${trait}`, handler);
  });
}

/** @param {import('./types.d.ts').Control[]} controls */
const stepperOf = (controls) => controls.find(({ kind }) => kind === 'stepper');

/** Whoever opens the link shall see the widget, and not the top of the page. @param {HTMLElement} root @param {string} href */
const linkTo = (root, href) => withPlace(href, root.closest('[id^="fig-"]')?.id);

/**
 * Take the state from the address; what is wrong with it is said, and the page's own state stays.
 * @param {import('./types.d.ts').Widget<any>} widget
 * @param {Model} model
 * @param {string} key
 */
function applyAddress(widget, model, key) {
  const text = readAddress(key);
  if (text === null) return '';
  try {
    setSound(widget, model, fromAddress(widget, text));
    return '';
  } catch (error) {
    return `The address says ${key}=${cut(text)}, which is ignored: ${/** @type {Error} */ (error).message}`;
  }
}
