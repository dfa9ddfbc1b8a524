// How the drawings of ring attention write, and what their fills mean.
import { write } from '../shared/svg.js';
import { markup } from '../shared/text.js';

export const LARGE = 'large sw-number sw-fill-text';
export const STRONG = 'body sw-strong sw-number sw-fill-text';
export const TEXT = 'small sw-number sw-fill-text';
export const MUTED = 'small sw-number sw-fill-muted';

/** @param {number} x @param {number} y @param {unknown} paint @param {unknown} text */
export const key = (x, y, paint, text) => markup`<rect x="${x + 1}" y="${y}" width="12" height="12" ${paint}/>${write(x + 20, y + 11, MUTED, text)}`;
