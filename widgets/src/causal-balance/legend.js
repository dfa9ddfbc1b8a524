// What the fills in the drawings of ring attention mean.
import { MUTED, rect, write } from '../shared/svg.js';

/** @param {number} x @param {number} y @param {unknown} paint @param {unknown} text */
export const key = (x, y, paint, text) => [rect(x + 1, y, 12, 12, '', paint), write(x + 20, y + 11, MUTED, text)];
