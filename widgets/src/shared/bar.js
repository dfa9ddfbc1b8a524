// The bar of controls as markup. Pages get it prerendered; their script only needs what is in controls.js.
import { PLAY, nearest } from './controls.js';
import { markup } from './text.js';

/** @typedef {import('./types.d.ts').Control} Control */
/** @typedef {import('./types.d.ts').StepperControl} Stepper */

// JupyterLab and Notebook 7 take arrow keys for their own unless the focused element says no.
const KEEP_KEYS = markup`data-lm-suppress-shortcuts="true"`;

const SPEEDS = [0.5, 1, 2, 4];
const BUTTONS = /** @type {const} */ ([
  ['first', 'First step', 'M4 3v10M13 3 6 8l7 5z'],
  ['previous', 'Previous step', 'M11 3 4 8l7 5z'],
  ['play', 'Play', PLAY],
  ['next', 'Next step', 'M5 3l7 5-7 5z'],
  ['last', 'Last step', 'M12 3v10M3 3l7 5-7 5z'],
]);

/** @param {Stepper} control @param {string} id */
const stepper = (control, id) => markup`<div class="sw-field sw-stepper" role="group" aria-label="${control.label}">
<label class="sw-label" for="${id}">${control.label} <b class="sw-value" data-text="${control.name}">${control.text}</b></label>
<div class="sw-stepper-row"><div class="sw-buttons">${BUTTONS.map(
  ([action, label, path]) => markup`<button type="button" class="sw-button" data-step="${action}" aria-label="${label}" title="${label}" ${KEEP_KEYS}><svg class="sw-icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path d="${path}"/></svg></button>`,
)}</div>
<input class="sw-range" type="range" id="${id}" data-name="${control.name}" min="0" max="${control.last}" step="1" value="${control.value}" aria-valuetext="${control.text}" ${KEEP_KEYS}>
<select class="sw-select sw-speed" aria-label="Speed" ${KEEP_KEYS}>${SPEEDS.map(
  (speed) => markup`<option value="${speed}"${speed === 1 && markup` selected`}>${speed}×</option>`,
)}</select></div>
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
  if (control.kind === 'check') {
    return markup`<label class="sw-field sw-check"><input class="sw-box" type="checkbox" data-name="${control.name}"${control.value && markup` checked`} ${KEEP_KEYS}> ${control.label}</label>`;
  }
  return markup`<fieldset class="sw-field sw-choice"><legend class="sw-label">${control.label}</legend><div class="sw-options">${control.options.map(
    ({ value, text }) => markup`<label class="sw-option"><input class="sw-radio" type="radio" name="${id}" data-name="${control.name}" value="${value}"${value === control.value && markup` checked`} ${KEEP_KEYS}><span class="sw-option-text">${text}</span></label>`,
  )}</div></fieldset>`;
}

/** @param {Control[]} list @param {string} prefix */
export const controlBar = (list, prefix) => markup`${list.map((control) => field(control, prefix))}`;
