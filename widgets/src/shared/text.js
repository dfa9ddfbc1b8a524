// Text of HTML and SVG: escaping and a tag function that does it by default.

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** @param {unknown} value */
export const escape = (value) => String(value).replace(/[&<>"']/g, (sign) => ENTITIES[sign]);

/** A sentence with values for its `{names}`, in their order. @param {string} text @param {...unknown} values */
export const fill = (text, ...values) => text.replace(/\{\w+\}/g, () => String(values.shift()));

const LONGEST = 40;

/** A value as a message shows it. @param {unknown} value */
export function cut(value) {
  const signs = [...String(value)];
  return signs.length <= LONGEST ? signs.join('') : `${signs.slice(0, LONGEST - 1).join('')}…`;
}

/** Show a text; one that stands there already stays, as a new one would lay out the page anew. @param {Element} element @param {string} text */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Markup that is already safe. */
export class Markup {
  /** @param {string} text */
  constructor(text) {
    this.text = text;
  }

  toString() {
    return this.text;
  }
}

/** @param {unknown} value @returns {string} */
function fragment(value) {
  if (value instanceof Markup) return value.text;
  if (Array.isArray(value)) return value.map(fragment).join('');
  if (value === undefined || value === null || value === false) return '';
  return escape(typeof value === 'number' ? number(value) : value);
}

/** Coordinates need no more than two decimals. @param {number} value */
const number = (value) => String(Math.round(value * 100) / 100);

/**
 * Build markup: values are escaped, lists are joined, `undefined` and `false` vanish.
 * @param {TemplateStringsArray} parts
 * @param {...unknown} values
 */
export function markup(parts, ...values) {
  return new Markup(parts.map((part, i) => part + (i < values.length ? fragment(values[i]) : '')).join(''));
}
