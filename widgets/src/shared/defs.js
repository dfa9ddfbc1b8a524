// What drawings refer to by id: a texture for each role, over the role's own fill, so that a role is never a colour
// alone, and the head of an arrow. Node and the notebook's module write them once for each widget.
import { markup } from './text.js';

/** @type {Record<string, unknown>} */
const TEXTURES = {
  parameters: '',
  gradients: markup`<path d="M-2 6 6 -2M2 10 10 2" class="sw-texture sw-stroke-page"/>`,
  optimizer: markup`<circle cx="2" cy="2" r="1.2" class="sw-texture-dot sw-fill-page"/><circle cx="6" cy="6" r="1.2" class="sw-texture-dot sw-fill-page"/>`,
  activations: markup`<path d="M0 2H8M0 6H8" class="sw-texture sw-stroke-page"/>`,
  communication: '',
  idle: markup`<path d="M-2 2 6 10M2 -2 10 6" class="sw-line sw-stroke-page"/>`,
};

/** @param {string} id the widget's, as its drawings have it */
export const defs = (id) => markup`<defs>${Object.entries(TEXTURES).map(
  ([role, texture]) => markup`<pattern id="${id}-fill-${role}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" class="sw-fill-${role}"/>${texture}</pattern>`,
)}<marker id="${id}-head" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 8 4 0 8z" class="sw-fill-communication"/></marker></defs>`;
