// The memory of one device: a stacked bar over the ghost of plain data parallelism, against one GPU.
import { formatBytes, formatCount, plural, whole } from '../shared/format.js';
import { axis as numbers } from '../shared/plot.js';
import { MUTED, headline, mark, open, path, rect, swatch, texture, textWidth, ticks, write } from '../shared/svg.js';
import { fill, markup } from '../shared/text.js';
import { given } from './given.js';
import { STAGES, amounts, fewestDevices, fits, isSplit, recipeOf } from './model.js';

/** @typedef {import('./model.js').State} State */

const GB = 1e9;
const BAR = 48;
/** Role in the palette and letter of each part. */
const ROLES = /** @type {const} */ ({ params: ['parameters', 'P'], grads: ['gradients', 'G'], optimizer: ['optimizer', 'O'], activations: ['activations', 'A'] });


/** @param {State} state */
const plain = (state) => amounts({ ...state, stage: 0 }).total;

/** Bytes that are missing on a device; below zero, to spare. @param {State} state */
const over = (state) => amounts(state).total - state.gpu * GB;

/** @param {State} state */
const fewest = (state) => {
  const count = fewestDevices(state);
  return count === null ? given.none : whole(count);
};

/** The parts that are there: their name, how they are made up, and their bytes. @param {State} state */
function parts(state) {
  const bytes = amounts(state);
  return /** @type {(keyof typeof ROLES)[]} */ (Object.keys(ROLES)).filter((kind) => bytes[kind]).map((kind) => {
    const [role, letter] = ROLES[kind];
    const how = kind === 'activations' ? given.everywhere
      : fill(given.each, recipeOf(state)[kind], isSplit(kind, state.stage) ? fill(given.split, whole(state.devices)) : given.copy);
    return { role, letter, name: given.names[kind], bytes: bytes[kind], how };
  });
}

/** @param {State} state @param {import('../shared/types.d.ts').Canvas} canvas */
function draw(state, { width, id }) {
  const narrow = width < 560;
  const [list, total, ghost, gpu] = [parts(state), amounts(state).total, plain(state), state.gpu * GB];
  // The stage-0 bar can be a thousand times longer than what is left of it: past four times, it is torn off.
  const end = 1.05 * Math.min(Math.max(ghost, gpu), 4 * Math.max(total, gpu));
  const x = (/** @type {number} */ bytes) => (Math.min(bytes, end) / end) * width;
  const top = narrow ? 112 : 92;
  const axis = top + BAR + 12;
  const rows = axis + 40;
  const stages = rows + list.length * 28 + 20;
  const line = fill(given.gpu, state.gpu);
  const before = x(gpu) + textWidth(line, 15) > width;
  let at = 0;
  return markup`${open(width, stages + 72, given.label)}
${headline(width, formatBytes(total), given.unit, verdict(state))}
${list.map(({ role, letter, name, how, bytes }) => {
    const [left, right] = [x(at), x((at += bytes))];
    return mark(name, fill(given.part, name, how, formatBytes(bytes), formatBytes(total)), [
      rect(left, top, Math.max(right - left, 0.5), BAR, 'memory-part', texture(id, role)), right - left >= 32 && swatch(role, letter, left + 6, top + BAR / 2 - 10),
    ]);
  })}
${mark('gpu', fill(given.holds, line, verdict(state)), [
    path(markup`M${x(gpu)} ${top - 40}V${axis}`, 'memory-gpu sw-stroke-text'), write(x(gpu) + (before ? -6 : 6), top - 30, 'small sw-strong sw-fill-text', line, before && 'end'),
  ])}
${ghostBar(ghost, x(ghost), ghost > end, top, width)}
${path(markup`M0 ${axis}H${width}`)}${write(0, axis + 20, MUTED, 0)}
${numbers(ticks(end, narrow ? 4 : 8), x, axis, (bytes) => bytes > 0 && x(bytes) < width - 32 && formatBytes(bytes))}
${list.map(({ role, letter, name, how, bytes }, i) => {
    const y = rows + i * 28;
    return markup`${swatch(role, letter, 0, y)}${write(28, y + 15, 'body sw-fill-text', name)}${!narrow && write(180, y + 15, MUTED, how)}${write(width, y + 15, 'body sw-fill-text', formatBytes(bytes), 'end')}`;
  })}
${write(0, stages + 8, MUTED, given.fewest)}
${STAGES.map((stage) => {
    const [chosen, left, count] = [stage === state.stage, (stage * (width + 8)) / 4, fewest({ ...state, stage })];
    return mark(`stage${stage}`, fill(given.atStage, stage, state.gpu, count), [
      rect(left + 0.75, stages + 20, (width - 24) / 4 - 1.5, 48, `memory-stage sw-stroke-${chosen ? 'text' : 'rule'}`, markup`rx="4"`),
      write(left + 8, stages + 39, MUTED, fill(given.stage, stage)), write(left + 8, stages + 59, `${narrow ? 'small' : 'body'} ${chosen ? 'sw-strong ' : ''}sw-fill-text`, count),
    ]);
  })}
</svg>`;
}

/** @param {State} state */
const verdict = (state) =>
  fits(state) ? fill(given.spare, formatBytes(Math.max(0, -over(state)))) : fill(given.over, formatBytes(over(state)), state.gpu);

/** @param {number} ghost bytes @param {number} right @param {boolean} torn @param {number} top @param {number} width */
function ghostBar(ghost, right, torn, top, width) {
  const text = fill(given.ghost, formatBytes(ghost));
  const third = (BAR + 8) / 3;
  const edge = torn ? `m0-${BAR + 8}-5 ${third} 6 ${third}-5 ${third}` : 'z';
  return mark('ghost', fill(given.ghosts, text), [
    path(markup`M${right} ${top - 4}H.75V${top + BAR + 4}H${right}${edge}`, 'memory-ghost sw-stroke-muted'),
    write(right, top - 10, 'small sw-halo sw-fill-muted', (torn ? '→ ' : '') + text, right > width / 2 && 'end'),
  ]);
}

/** @param {State} state */
function say(state) {
  const count = fewest(state);
  const fit = fits(state) ? fill(given.fit, state.gpu) : fill(given.tooMuch, formatBytes(over(state)), state.gpu);
  return fill(
    given.said, formatCount(state.params), state.stage, plural(state.devices, 'device'), formatBytes(amounts(state).total), fit,
    fill(count === given.none ? given.noCount : given.count, state.stage, count),
  );
}

/** @type {import('../shared/types.d.ts').Widget<State>} */
export const widget = {
  ...given,
  given,
  check: recipeOf,
  show: ({ params, activations, recipes }) => ({
    params: { text: formatCount(params) },
    activations: { text: `${whole(activations)} GB` },
    recipe: {
      options: recipes.map((recipe) => ({
        value: recipe.name, text: `${recipe.params + recipe.grads + recipe.optimizer} = ${recipe.name}: ${recipe.description}`,
      })),
    },
  }),
  draw,
  say,
  table: (state) => ({
    caption: fill(given.caption, plural(state.devices, 'device'), state.stage),
    head: given.head,
    rows: [
      ...parts(state).map(({ name, how, bytes }) => [name, how, formatBytes(bytes)]),
      [given.all, verdict(state), formatBytes(amounts(state).total)],
      ...STAGES.map((stage) => [fill(given.stage, stage), given.fewest, fewest({ ...state, stage })]),
    ],
  }),
};
