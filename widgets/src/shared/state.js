// A state is checked when it is read: nothing is drawn from one that no control can make.
import { checkField } from './fields.js';

/** @typedef {import('./types.d.ts').Model} Model */

/** @param {import('./types.d.ts').Widget<any>} widget */
export const traitsOf = ({ fields, data = [] }) => [...Object.keys(fields), ...data];

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {(trait: string) => any} get
 * @returns {S}
 */
export function soundState(widget, get) {
  const traits = /** @type {S} */ (Object.fromEntries(traitsOf(widget).map((trait) => [trait, get(trait)])));
  for (const [name, field] of Object.entries(widget.fields)) checkField(name, field, traits[name]);
  const state = widget.derive?.(traits) ?? traits;
  widget.check?.(state);
  return state;
}

/**
 * Set traits if the state that they make is sound; throws an Error that says what is not.
 * @param {import('./types.d.ts').Widget<any>} widget
 * @param {Model} model
 * @param {Record<string, unknown>} traits
 */
export function setSound(widget, model, traits) {
  soundState(widget, (trait) => (trait in traits ? traits[trait] : model.get(trait)));
  for (const [name, value] of Object.entries(traits)) model.set(name, value);
}

/**
 * A function that reads the state, or gives the last sound one while the model has none: a script may set
 * anything, and a kernel changes traits that belong together one after the other.
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {Model} model
 */
export function stateReader(widget, model) {
  const get = (/** @type {string} */ trait) => model.get(trait);
  let last = soundState(widget, get);
  return () => {
    try {
      last = soundState(widget, get);
    } catch {
      // The kernel says what is wrong with what it refuses; here the drawing stays as it is.
    }
    return last;
  };
}
