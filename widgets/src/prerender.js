// Draws a first frame: { widget, state, id } as JSON on standard input; title, state as a page holds it, markup,
// image and alt text out.
import style from 'drawing.css';
import { widget as MemoryBudget } from './memory-budget/index.js';
import * as memoryBudget from './memory-budget/words.js';
import { widget as RingAllReduce } from './ring-all-reduce/index.js';
import * as ringAllReduce from './ring-all-reduce/words.js';
import { widget as CausalBalance } from './causal-balance/index.js';
import * as causalBalance from './causal-balance/words.js';
import { widget as RingAttention } from './ring-attention/index.js';
import * as ringAttention from './ring-attention/words.js';
import { widget as ZeroStages } from './zero-stages/index.js';
import * as zeroStages from './zero-stages/words.js';
import { widget as ContextScaling } from './context-scaling/index.js';
import * as contextScaling from './context-scaling/words.js';
import { widget as PipelineSchedule } from './pipeline-schedule/index.js';
import * as pipelineSchedule from './pipeline-schedule/words.js';
import { widget as PipelineBubble } from './pipeline-bubble/index.js';
import * as pipelineBubble from './pipeline-bubble/words.js';
import { widget as MegatronMLP } from './megatron-mlp/index.js';
import * as megatronMLP from './megatron-mlp/words.js';
import { widget as TensorParallelCost } from './tensor-parallel-cost/index.js';
import * as tensorParallelCost from './tensor-parallel-cost/words.js';
import { defs } from './shared/defs.js';
import { frame } from './shared/frame.js';
import { FRAME_WIDTH } from './shared/mount.js';
import { sealOf } from './shared/seal.js';
import { soundState, viewOf } from './shared/state.js';

/** @type {Record<string, [import('./shared/types.d.ts').Widget<any>, import('./shared/types.d.ts').Words<any>]>} */
const WIDGETS = {
  MemoryBudget: [MemoryBudget, memoryBudget],
  RingAllReduce: [RingAllReduce, ringAllReduce],
  CausalBalance: [CausalBalance, causalBalance],
  RingAttention: [RingAttention, ringAttention],
  ZeroStages: [ZeroStages, zeroStages],
  ContextScaling: [ContextScaling, contextScaling],
  PipelineSchedule: [PipelineSchedule, pipelineSchedule],
  PipelineBubble: [PipelineBubble, pipelineBubble],
  MegatronMLP: [MegatronMLP, megatronMLP],
  TensorParallelCost: [TensorParallelCost, tensorParallelCost],
};

const IMAGE_WIDTH = 640; // as in a book on paper

/** An image stands alone: it brings its style, in the light colours, and what it refers to. @param {string} svg @param {string} id */
function standalone(svg, id) {
  const css = style.replace(/var\(--sw-[a-z-]+, (#[0-9a-f]{6})\)/g, '$1').replace(/\s+/g, ' ');
  return svg.replace('role="group"', 'role="img"').replace('>', ` xmlns="http://www.w3.org/2000/svg"><style>${css}</style>${defs(id)}`);
}

/** JSON for a script element, which "<" may end. @param {unknown} value */
const embedded = (value) => JSON.stringify(value).replaceAll('<', '\\u003c');

/** @param {{ widget: string, state: Record<string, unknown>, id: string }} job */
function prerender({ widget: name, state: traits, id }) {
  const [widget, words] = WIDGETS[name];
  const state = soundState(widget, (trait) => traits[trait]);
  const [data, given] = [embedded(traits), embedded(widget.given)];
  return {
    title: widget.title,
    state: data,
    // What stands between two tags is of no account, as in build.mjs, and a blank line would end a block of raw HTML for
    // other readers of markdown.
    html: `${frame(widget, words, state, { id, width: FRAME_WIDTH, copy: 'Copy link', seal: sealOf(data + given) }).text.replace(/>\s*\n\s*</g, '><').replace(/\s*\n\s*/g, '\n')}
<script type="application/json" class="sw-given">${given}</script>`,
    svg: standalone(viewOf(widget, state, { id: 'frame', width: IMAGE_WIDTH }).drawing, 'frame'),
    alt: words.alt(state),
  };
}

let input = '';
for await (const chunk of process.stdin) input += chunk;
try {
  process.stdout.write(JSON.stringify(prerender(JSON.parse(input))));
} catch (error) {
  process.exitCode = 1;
  console.error(error instanceof Error ? error.stack : error); // uncaught, it would come with a line of 20 kB
}
