// Pieces that several drawings share. Colours are classes (see look-css.js), textures are patterns.
import { markup } from './text.js';

/** Average advance of the system sans-serif in em, for deciding whether a label has room. */
const ADVANCE = 0.58;

/** @param {string} text @param {number} size */
export const textWidth = (text, size) => text.length * size * ADVANCE;

/** Apart from the ids of controls, which may be called like a role. @param {string} id @param {string} role */
const textureId = (id, role) => `${id}-fill-${role}`;

/** What paints a shape with a role's texture. @param {string} id @param {string} role */
export const texture = (id, role) => `url(#${textureId(id, role)})`;

/** Textures by role, over the role's own fill, so that a role is never a colour alone.
 * @param {string} id @param {string[]} roles */
export const textures = (id, roles) => markup`<defs>${roles.map(
  (role) => markup`<pattern id="${textureId(id, role)}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="sw-fill-${role}"/>${TEXTURES[role]?.(role)}</pattern>`,
)}</defs>`;

/** @type {Record<string, (role: string) => unknown>} */
const TEXTURES = {
  gradients: () => markup`<path d="M-2 6 6 -2M2 10 10 2" class="sw-texture sw-stroke-page"/>`,
  optimizer: () => markup`<circle cx="2" cy="2" r="1.2" class="sw-texture-dot sw-fill-page"/><circle cx="6" cy="6" r="1.2" class="sw-texture-dot sw-fill-page"/>`,
  activations: () => markup`<path d="M0 2H8M0 6H8" class="sw-texture sw-stroke-page"/>`,
  idle: () => markup`<path d="M-2 2 6 10M2 -2 10 6" class="sw-line sw-stroke-page"/>`,
};

/** The opening tag of a drawing. @param {number} width @param {number} height @param {string} label @param {unknown} [moving] a further class
 * @param {unknown} [more] further attributes */
export const open = (width, height, label, moving, more) =>
  markup`<svg class="sw-svg ${moving}" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="group" aria-label="${label}" ${more}>`;

/** The head of the arrows of a drawing, by the id `${id}-head`. @param {string} id */
export const arrowHead = (id) =>
  markup`<defs><marker id="${id}-head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" class="sw-fill-communication"/></marker></defs>`;

/** A label: `look` is the rest of its classes after the first `sw-`, such as `small sw-fill-muted`.
 * @param {number} x @param {number} y @param {string} look @param {unknown} text @param {'middle' | 'end' | false} [anchor] */
export const write = (x, y, look, text, anchor = false) =>
  markup`<text x="${x}" y="${y}"${anchor && markup` text-anchor="${anchor}"`} class="sw-${look}">${text}</text>`;

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
