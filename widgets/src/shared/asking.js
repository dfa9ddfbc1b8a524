// The drawing is one stop of the Tab key; arrow keys go from mark to mark. Hover, focus and tap show what a mark
// says, a frame around it, and what it needs, if its `data-needs` has the keys of others.
import { path, rect } from './svg.js';
import { markup, say } from './text.js';

export const HINT = 'Point at a part of the drawing, or go to it with Tab and the arrow keys, to ask what it is.';
const MARGIN = 2; // pixels from a mark to its frame

/** @type {Record<string, [number, number]>} */
const WAYS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/**
 * The nearest of some boxes in a direction; what lies aside counts double. Without one, -1.
 * @param {{ x: number, y: number, width: number, height: number }[]} boxes
 * @param {number} from
 * @param {[number, number]} way
 */
export function neighbour(boxes, from, [right, down]) {
  const [x, y] = middle(boxes[from]);
  let [best, least] = [-1, Infinity];
  boxes.forEach((box, i) => {
    const [dx, dy] = [middle(box)[0] - x, middle(box)[1] - y];
    const ahead = dx * right + dy * down;
    const cost = ahead + 2 * Math.abs(dx * down) + 2 * Math.abs(dy * right);
    if (ahead > 1 && cost < least) [best, least] = [i, cost];
  });
  return best;
}

/** @param {{ x: number, y: number, width: number, height: number }} box */
const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

/**
 * @param {HTMLElement} drawing
 * @param {HTMLElement} line where the answer stands
 * @param {AbortSignal} signal
 * @returns {(draw: () => void) => void} draws anew and keeps focus, answer and frame
 */
export function makeAsking(drawing, line, signal) {
  let key = '';
  const marks = () => /** @type {SVGGraphicsElement[]} */ ([...drawing.querySelectorAll('[data-key]')]);
  const find = (/** @type {string | undefined} */ one) => marks().find(({ dataset }) => dataset.key === one);
  const markOf = (/** @type {EventTarget | null} */ target) =>
    /** @type {SVGGraphicsElement | null} */ (/** @type {Element} */ (target).closest?.('[data-key]'));

  /** @param {SVGGraphicsElement | undefined | null} mark */
  const show = (mark) => {
    say(line, mark?.getAttribute('aria-label') ?? HINT);
    line.classList.toggle('sw-hint', !mark);
    drawing.querySelector('.sw-marks')?.remove();
    for (const other of drawing.querySelectorAll('[data-key][tabindex="0"]')) other.setAttribute('tabindex', '-1');
    const stop = mark ?? drawing.querySelector('[data-key]');
    stop?.setAttribute('tabindex', '0');
    stop?.setAttribute('data-lm-suppress-shortcuts', 'true'); // or JupyterLab takes the arrow keys
    if (mark) drawing.firstElementChild?.insertAdjacentHTML('beforeend', framesOf(mark, find).text);
  };
  const ask = (/** @type {Event} */ { target }) => {
    const mark = markOf(target);
    if (!mark || mark.dataset.key === key) return;
    key = mark.dataset.key ?? '';
    show(mark);
  };
  for (const event of ['pointerover', 'focusin', 'click']) drawing.addEventListener(event, ask, { signal });
  drawing.addEventListener(
    'keydown',
    (event) => {
      const mark = markOf(event.target);
      if (!mark || event.altKey || event.ctrlKey || event.metaKey) return;
      const all = marks();
      const to = event.key === 'Home' ? 0 : event.key === 'End' ? all.length - 1
        : WAYS[event.key] ? neighbour(all.map((one) => one.getBoundingClientRect()), all.indexOf(mark), WAYS[event.key]) : undefined;
      if (to === undefined) return;
      event.preventDefault();
      all[to]?.focus();
    },
    { signal },
  );
  return (draw) => {
    const { activeElement } = /** @type {Document} */ (drawing.getRootNode());
    const focused = drawing.contains(activeElement) ? markOf(activeElement) : undefined;
    draw();
    const mark = key ? find(key) : undefined;
    if (!mark) key = '';
    show(mark);
    if (focused) (find(focused.dataset.key) ?? marks()[0])?.focus({ preventScroll: true });
  };
}

/**
 * Drawn, because not every browser outlines what is inside an SVG.
 * @param {SVGGraphicsElement} mark
 * @param {(key: string) => SVGGraphicsElement | undefined} find
 */
function framesOf(mark, find) {
  const [x, y, width, height] = boxOf(mark);
  const { id } = /** @type {HTMLElement} */ (mark.closest('[data-id]')).dataset;
  const needs = (mark.dataset.needs ?? '').split(' ').flatMap((key) => find(key) ?? []).map(boxOf);
  return markup`<g class="sw-marks">${needs.map(([left, top, wide, high], i) => [
    rect(left, top, wide, high, 'need'),
    i < 1 && path(`M${left + wide - 4} ${top + high / 2}L${x + 4} ${y + height / 2}`, 'need', markup`marker-end="url(#${id}-head)"`),
  ])}${rect(x - MARGIN, y - MARGIN, width + 2 * MARGIN, height + 2 * MARGIN, 'mark', markup`rx="4"`)}</g>`;
}

/** Where a mark is in its drawing, once its motion has come to an end. @param {SVGGraphicsElement} mark */
function boxOf(mark) {
  const svg = /** @type {SVGSVGElement} */ (mark.ownerSVGElement);
  const motions = mark.getAnimations({ subtree: true }).map((motion) => /** @type {const} */ ([motion, motion.currentTime]));
  for (const [motion] of motions) motion.currentTime = 1e4;
  const [box, ground] = [mark.getBoundingClientRect(), svg.getBoundingClientRect()];
  for (const [motion, time] of motions) motion.currentTime = time;
  const scale = svg.viewBox.baseVal.width / ground.width || 1;
  return [(box.x - ground.x) * scale, (box.y - ground.y) * scale, box.width * scale, box.height * scale];
}
