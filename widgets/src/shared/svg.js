// Pieces that several drawings share. Colours are classes (see look-css.js), textures are patterns (see defs.js).
import { ask } from './ask.js';
import { markup } from './text.js';

/** Average advance of the system sans-serif in em, for deciding whether a label has room. */
const ADVANCE = 0.58;

/** @param {string} text @param {number} size */
export const textWidth = (text, size) => text.length * size * ADVANCE;

/** What fills a shape with a role's texture, which the frame has. @param {string} id @param {string} role */
export const texture = (id, role) => markup`fill="url(#${id}-fill-${role})"`;

/** The opening tag of a drawing. @param {number} width @param {number} height @param {string} label @param {unknown} [moving] a further class
 * @param {unknown} [more] further attributes */
export const open = (width, height, label, moving, more) =>
  markup`<svg class="sw-svg ${moving}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="${label}" ${more}>`;

/** @param {number} x @param {number} y @param {number} width @param {number} height @param {unknown} [look] the rest of its classes after the first `sw-`
 * @param {unknown} [more] further attributes */
export const rect = (x, y, width, height, look, more) =>
  markup`<rect x="${x}" y="${y}" width="${width}" height="${height}"${look && markup` class="sw-${look}"`} ${more}/>`;

/** @param {unknown} d @param {string} [look] the rest of its classes; else it is a line of an axis @param {unknown} [more] further attributes */
export const path = (d, look = 'line sw-stroke-rule', more) => markup`<path d="${d}" class="sw-${look}" ${more}/>`;

/** @param {number} x @param {number} y @param {number} r @param {string} look the rest of its classes */
export const circle = (x, y, r, look) => markup`<circle cx="${x}" cy="${y}" r="${r}" class="sw-${look}"/>`;

/** What can be asked. @param {string} key @param {string} text the answer @param {unknown} content @param {unknown} [more] further attributes */
export const mark = (key, text, content, more) => markup`<g ${ask(text, key)} ${more}>${content}</g>`;

export const [LARGE, STRONG, TEXT, MUTED] = ['large sw-number sw-fill-text', 'body sw-strong sw-number sw-fill-text', 'small sw-number sw-fill-text', 'small sw-number sw-fill-muted'];

/** A label: `look` is the rest of its classes after the first `sw-`, such as `small sw-fill-muted`.
 * @param {number} x @param {number} y @param {string} look @param {unknown} text @param {'middle' | 'end' | false} [anchor] */
export const write = (x, y, look, text, anchor = false) =>
  markup`<text x="${x}" y="${y}"${anchor && markup` text-anchor="${anchor}"`} class="sw-${look}">${text}</text>`;

/** The number that matters, and what follows from it: beside it, or below where there is little room.
 * @param {number} width @param {unknown} number @param {unknown} unit @param {unknown} verdict */
export const headline = (width, number, unit, verdict) => markup`${write(0, 24, LARGE, markup`${number} <tspan class="sw-body">${unit}</tspan>`)}
${width < 560 ? write(0, 50, STRONG, verdict) : write(width, 24, STRONG, verdict, 'end')}`;

/** The largest size at which a text has room, or none. @param {unknown} text @param {number} room */
export const sizeFor = (text, room) =>
  /** @type {[string, number][]} */ ([['body', 17], ['small', 14.17], ['tiny', 11.81]]).find(([, px]) => textWidth(String(text), px) <= room)?.[0];

/** A small square in a role's colour with its letter. @param {string} role @param {string} letter @param {number} x @param {number} y */
export const swatch = (role, letter, x, y) => markup`<rect x="${x}" y="${y}" width="20" height="20" rx="4" class="sw-fill-${role}"/>
<text x="${x + 10}" y="${y + 14.5}" text-anchor="middle" class="sw-small sw-strong sw-on-${role}">${letter}</text>`;

/** Round steps for an axis: 1, 2 or 5 times a power of ten. @param {number} end @param {number} most */
export function ticks(end, most) {
  const rough = end / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, i) => i * step);
}

/** What a role stands for. @param {string} role @param {string} letter @param {number} x @param {number} y @param {unknown} text @param {string} [look] */
export const entry = (role, letter, x, y, text, look = MUTED) => markup`${swatch(role, letter, x, y)}${write(x + 28, y + 15, look, text)}`;
