// A state is checked when it is read: nothing is drawn from one that no control or kernel can make.
import { controlsOf } from './controls.js';
import { checkField } from './fields.js';

/** @typedef {import('./types.d.ts').Model} Model */

/** @param {import('./types.d.ts').Widget<any>} widget */
export const traitsOf = ({ fields, data = [] }) => [...Object.keys(fields), ...data];

/**
 * What `make` gives, or an Error that says in the reader's words that what Python handed over is damaged.
 * @template T
 * @param {import('./types.d.ts').Widget<any>} widget
 * @param {() => T} make
 */
function orDamaged({ data = [] }, make) {
  try {
    return make();
  } catch (error) {
    throw error instanceof TypeError ? new Error(`${data.join(' or ')} is damaged (${error.message})`) : error;
  }
}

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {(trait: string) => any} get
 * @returns {S}
 */
export function soundState(widget, get) {
  const traits = /** @type {S} */ (Object.fromEntries(traitsOf(widget).map((trait) => [trait, get(trait)])));
  for (const [name, field] of Object.entries(widget.fields)) checkField(name, field, traits[name]);
  return orDamaged(widget, () => {
    const state = widget.derive?.(traits) ?? traits;
    widget.check?.(state);
    return state;
  });
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
 * All that a state shows. Throws where something in it is no number or no text: a damaged recording gets so far
 * at most, whatever is wrong with it.
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {S} state
 * @param {import('./types.d.ts').Canvas} canvas
 */
export const viewOf = (widget, state, canvas) => orDamaged(widget, () => {
  const view = { controls: controlsOf(widget, state), drawing: widget.draw(state, canvas).text, said: widget.say(state), phase: widget.phase?.(state) };
  const nonsense = JSON.stringify(view).match(/\b(NaN|undefined|null|Infinity)\b/);
  if (nonsense) throw new TypeError(`it gives ${nonsense[0]}`);
  return view;
});
