// A state is checked when it is read: nothing is drawn from one that no control can make.

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {(trait: string) => any} get
 * @returns {S}
 */
export function soundState(widget, get) {
  const state = widget.read(get);
  widget.check(state);
  return state;
}

/**
 * A function that reads the state, or gives the last sound one while the model has none: a script may set
 * anything, and a kernel changes traits that belong together one after the other.
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {import('./types.d.ts').Model} model
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
