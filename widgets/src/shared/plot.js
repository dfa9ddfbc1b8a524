// What the charts share: an axis with its numbers.
import { MUTED, path, write } from './svg.js';

/**
 * Small lines below a chart with a number at each.
 * @param {readonly number[]} values
 * @param {(value: number) => number} x
 * @param {number} y
 * @param {(value: number) => unknown} text a number, or false where there is no room for it
 */
export const axis = (values, x, y, text) => values.map((value) => [
  path(`M${x(value)} ${y}v4`), write(x(value), y + 20, MUTED, text(value), 'middle'),
]);
