// What is drawn can be asked: a mark carries the answer as its name.
import { markup } from './text.js';

/**
 * Attributes of a mark. Marks are never nested.
 * @param {string} text what it is, from which formula, with numbers and units
 * @param {string} key the same over redraws, and unique in the drawing
 */
export const ask = (text, key) => markup`data-key="${key}" role="img" aria-label="${text}" tabindex="-1"`;
