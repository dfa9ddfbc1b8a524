// The controls that stand above a drawing: a state is written into the elements that exist, so that a redraw
// never takes the focus away, and what someone does with one is read as a value of its trait.
import { whole } from './format.js';
import { say } from './text.js';

/** @typedef {import('./types.d.ts').Control} Control */
/** @typedef {import('./types.d.ts').StepperControl} Stepper */

export const PLAY = 'M4 3l9 5-9 5z';
const PAUSE = 'M5 3v10M11 3v10';

/**
 * The controls as a state has them: what is constant of each, its value, and what the widget shows of it.
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {S} state
 */
export function controlsOf({ controls, show }, state) {
  const shown = show?.(state) ?? {};
  const there = controls.filter(({ name }) => shown[name] !== null);
  return /** @type {Control[]} */ (there.map((control) => {
    const own = { value: state[control.name], ...control, ...shown[control.name] };
    return typeof own.value === 'number' ? { text: whole(own.value), ...own } : own;
  }));
}

/** Position of the stop nearest to a value. @param {readonly number[]} stops @param {number} value */
export function nearest(stops, value) {
  let best = 0;
  stops.forEach((stop, i) => {
    if (Math.abs(stop - value) < Math.abs(stops[best] - value)) best = i;
  });
  return best;
}

/**
 * Where a key leads on a slider whose value may lie between two stops: to the next stop in that direction.
 * @param {readonly number[]} stops
 * @param {number} from the value before
 * @param {number} position where the slider went
 */
export function nextStop(stops, from, position) {
  const before = nearest(stops, from);
  if (stops[before] === from || Math.abs(position - before) !== 1) return stops[position];
  const upward = position > before;
  return upward === stops[before] > from ? stops[before] : stops[position];
}

/** The value that an element stands for. @param {Control} control @param {HTMLInputElement} input */
export function valueOf(control, input) {
  if (control.kind === 'check') return input.checked;
  if (control.kind === 'stepper') return Number(input.value);
  if (control.kind === 'range') return nextStop(control.stops, control.value, Number(input.value));
  return control.options.find(({ value }) => String(value) === input.value)?.value;
}

/**
 * Show a state in the elements that exist.
 * @param {HTMLElement} root
 * @param {Control[]} list
 */
export function showControls(root, list) {
  for (const control of list) {
    const inputs = root.querySelectorAll(`[data-name="${control.name}"]`);
    for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (inputs)) showControl(root, control, input);
    if (control.kind === 'stepper') showButtons(root, control);
  }
}

/** @param {HTMLElement} root @param {Control} control @param {HTMLInputElement} input */
function showControl(root, control, input) {
  if (control.kind === 'check') input.checked = control.value;
  else if (control.kind === 'choice') input.checked = input.value === String(control.value);
  else if (control.kind === 'select') input.value = String(control.value);
  else {
    const max = String(control.kind === 'stepper' ? control.last : control.stops.length - 1);
    if (input.max !== max) input.max = max;
    input.value = String(control.kind === 'stepper' ? control.value : nearest(control.stops, control.value));
    input.setAttribute('aria-valuetext', control.text);
    const shown = root.querySelector(`[data-text="${control.name}"]`);
    if (shown) say(shown, control.text);
  }
}

/** A disabled button would lose the focus in mid-step, so the end is said and not enforced.
 * @param {HTMLElement} root @param {Stepper} control */
function showButtons(root, { value, last }) {
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('[data-step]'))) {
    const action = button.dataset.step;
    const spent = action === 'first' || action === 'previous' ? value === 0 : action !== 'play' && value === last;
    button.setAttribute('aria-disabled', String(spent));
  }
}

/** @param {HTMLElement} root @param {boolean} playing */
export function showPlaying(root, playing) {
  const button = root.querySelector('[data-step="play"]');
  if (!button) return;
  const label = playing ? 'Pause' : 'Play';
  button.setAttribute('aria-label', label);
  button.setAttribute('title', label);
  button.querySelector('path')?.setAttribute('d', playing ? PAUSE : PLAY);
}
