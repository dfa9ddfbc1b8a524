// The whole of a widget as text: what node prerenders for a page, and a notebook's module fills in.
import { HINT } from './asking.js';
import { controlBar } from './bar.js';
import { controlsOf } from './controls.js';
import { defs } from './defs.js';
import { tableMarkup } from './table.js';
import { markup } from './text.js';

const QUIET = markup`data-lm-suppress-shortcuts="true"`;

/** A browser that leaves out a drawing far out of sight has to know how high it is. @param {import('./text.js').Markup} svg */
const drawingOf = (svg) =>
  markup`<div class="sw-drawing" style="contain-intrinsic-height: ${/ height="([\d.]+)"/.exec(svg.text)?.[1]}px">${svg}</div>`;

/**
 * @template {Record<string, any>} S
 * @param {import('./types.d.ts').Widget<S>} widget
 * @param {import('./types.d.ts').Words<S>} words
 * @param {S} state
 * @param {{ id: string, width: number, copy: string, seal?: string }} options `id` is unique in the document; a page's frame has a
 *   seal of what it was drawn from
 */
export const frame = (widget, words, state, { id, width, copy, seal }) => markup`<div class="sw-root ${widget.className}" data-id="${id}"${seal && markup` data-drawn="${width}" data-seal="${seal}"`}>
<div class="sw-controls" role="group" aria-label="${widget.title}">${controlBar(controlsOf(widget, state), id)}</div>
<svg width="0" height="0" style="position: absolute" aria-hidden="true">${defs(id)}</svg>
${drawingOf(widget.draw(state, { width, id }))}
<output class="sw-said" aria-live="polite">${widget.say(state)}</output>
<p class="sw-asked sw-hint">${HINT}</p>
<div class="sw-try"><p class="sw-try-title">Try this</p><ol class="sw-prompts">${words.prompts.map(
  (prompt) => markup`<li class="sw-prompt">${prompt}</li>`,
)}</ol></div>
<div class="sw-foot"><button type="button" class="sw-copy" data-do="copy" ${QUIET}>${copy}</button><button type="button" class="sw-copy" data-do="reset" ${QUIET}>Reset</button>
<details class="sw-table"><summary class="sw-summary" ${QUIET}>Numbers as a table</summary><div class="sw-cells" role="group" aria-label="${widget.title}, numbers" tabindex="0" ${QUIET}>${tableMarkup(widget.table(state))}</div></details>
<span class="sw-message" role="status"></span></div>
</div>`;
