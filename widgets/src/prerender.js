// Draws a first frame: { widget, state, id } as JSON on standard input; title, markup, image and alt text out.
import style from 'drawing.css';
import MemoryBudget from './memory-budget/index.js';
import RingAllReduce from './ring-all-reduce/index.js';
import { FRAME_WIDTH, frame } from './shared/mount.js';
import { soundState } from './shared/state.js';

/** @type {Record<string, any>} */
const WIDGETS = { MemoryBudget, RingAllReduce };

/** An image stands alone: it brings its style, in the light colours. @param {string} svg */
function standalone(svg) {
  const css = style.replace(/var\(--sw-[a-z-]+, (#[0-9a-f]{6})\)/g, '$1').replace(/\s+/g, ' ');
  return svg.replace('>', ` xmlns="http://www.w3.org/2000/svg"><style>${css}</style>`);
}

/** @param {{ widget: string, state: Record<string, unknown>, id: string }} job */
function prerender({ widget: name, state: traits, id }) {
  const { widget } = WIDGETS[name];
  const state = soundState(widget, (trait) => traits[trait]);
  return {
    title: widget.title,
    // A blank line would end a block of raw HTML for other readers of markdown.
    html: frame(widget, state, { id, width: FRAME_WIDTH, copy: 'Copy link' }).text.replace(/\s*\n\s*/g, '\n'),
    svg: standalone(widget.draw(state, { id: 'frame', width: FRAME_WIDTH }).text),
    alt: widget.alt(state),
  };
}

let input = '';
for await (const chunk of process.stdin) input += chunk;
process.stdout.write(JSON.stringify(prerender(JSON.parse(input))));
