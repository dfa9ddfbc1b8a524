// The bar of controls: markup from a description, and values written back into the elements that exist,
// so that a redraw never takes the focus away.
import { markup } from './text.js';

/** @typedef {import('./types.d.ts').Control} Control */
/** @typedef {import('./types.d.ts').StepperControl} Stepper */

// JupyterLab and Notebook 7 take arrow keys for their own unless the focused element says no.
const KEEP_KEYS = markup`data-lm-suppress-shortcuts="true"`;

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

const BUTTONS = /** @type {const} */ ([
  ['first', 'First step', 'M4 3v10M13 3 6 8l7 5z'],
  ['previous', 'Previous step', 'M11 3 4 8l7 5z'],
  ['play', 'Play', 'M4 3l9 5-9 5z'],
  ['next', 'Next step', 'M5 3l7 5-7 5z'],
  ['last', 'Last step', 'M12 3v10M3 3l7 5-7 5z'],
]);
const PAUSE = 'M5 3v10M11 3v10';
const PLAY = BUTTONS[2][2];

/** @param {Stepper} control @param {string} id */
const stepper = (control, id) => markup`<div class="sw-field sw-stepper" role="group" aria-label="${control.label}">
<label class="sw-label" for="${id}">${control.label} <b class="sw-value" data-text="${control.name}">${control.text}</b></label>
<div class="sw-stepper-row"><div class="sw-buttons">${BUTTONS.map(
  ([action, label, path]) => markup`<button type="button" class="sw-button" data-step="${action}" aria-label="${label}" title="${label}" ${KEEP_KEYS}><svg class="sw-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${path}"/></svg></button>`,
)}</div>
<input class="sw-range" type="range" id="${id}" data-name="${control.name}" min="0" max="${control.last}" step="1" value="${control.value}" aria-valuetext="${control.text}" ${KEEP_KEYS}></div>
</div>`;

/** @param {Control} control @param {string} prefix */
function field(control, prefix) {
  const id = `${prefix}-${control.name}`;
  if (control.kind === 'stepper') return stepper(control, id);
  if (control.kind === 'range') {
    return markup`<div class="sw-field"><label class="sw-label" for="${id}">${control.label} <b class="sw-value" data-text="${control.name}">${control.text}</b></label>
<input class="sw-range" type="range" id="${id}" data-name="${control.name}" min="0" max="${control.stops.length - 1}" step="1" value="${nearest(control.stops, control.value)}" aria-valuetext="${control.text}" ${KEEP_KEYS}></div>`;
  }
  if (control.kind === 'select') {
    return markup`<div class="sw-field ${control.wide && 'sw-wide'}"><label class="sw-label" for="${id}">${control.label}</label>
<select class="sw-select" id="${id}" data-name="${control.name}" ${KEEP_KEYS}>${control.options.map(
      ({ value, text }) => markup`<option value="${value}"${value === control.value && markup` selected`}>${text}</option>`,
    )}</select></div>`;
  }
  return markup`<fieldset class="sw-field sw-choice"><legend class="sw-label">${control.label}</legend><div class="sw-options">${control.options.map(
    ({ value, text }) => markup`<label class="sw-option"><input class="sw-radio" type="radio" name="${id}" data-name="${control.name}" value="${value}"${value === control.value && markup` checked`} ${KEEP_KEYS}><span class="sw-option-text">${text}</span></label>`,
  )}</div></fieldset>`;
}

/** @param {Control[]} list @param {string} prefix */
export const controlBar = (list, prefix) => markup`${list.map((control) => field(control, prefix))}`;

/**
 * Show a state in the elements that exist.
 * @param {HTMLElement} root
 * @param {Control[]} list
 */
export function showControls(root, list) {
  for (const control of list) {
    const inputs = root.querySelectorAll(`[data-name="${control.name}"]`);
    for (const input of /** @type {NodeListOf<HTMLInputElement>} */ (inputs)) {
      if (control.kind === 'choice') {
        input.checked = Number(input.value) === control.value;
      } else if (control.kind === 'select') {
        input.value = control.value;
      } else {
        input.max = String(control.kind === 'stepper' ? control.last : control.stops.length - 1);
        input.value = String(control.kind === 'stepper' ? control.value : nearest(control.stops, control.value));
        input.setAttribute('aria-valuetext', control.text);
        const shown = root.querySelector(`[data-text="${control.name}"]`);
        if (shown) shown.textContent = control.text;
      }
    }
    if (control.kind === 'stepper') showButtons(root, control);
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
