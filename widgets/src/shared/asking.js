// The drawing is one stop of the Tab key; arrow keys go from mark to mark. Hover, focus and tap show what a mark
// says, and a frame around it.

const HINT = 'Point at a part of the drawing, or go to it with Tab and the arrow keys, to ask what it is.';
const SVG = 'http://www.w3.org/2000/svg';
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
  const markOf = (/** @type {EventTarget | null} */ target) =>
    /** @type {SVGGraphicsElement | null} */ (/** @type {Element} */ (target).closest?.('[data-key]'));

  /** @param {SVGGraphicsElement | undefined | null} mark */
  const show = (mark) => {
    line.textContent = mark?.getAttribute('aria-label') ?? HINT;
    line.classList.toggle('sw-hint', !mark);
    drawing.querySelector('.sw-mark')?.remove();
    for (const other of drawing.querySelectorAll('[data-key][tabindex="0"]')) other.setAttribute('tabindex', '-1');
    const stop = mark ?? marks()[0];
    stop?.setAttribute('tabindex', '0');
    stop?.setAttribute('data-lm-suppress-shortcuts', 'true'); // or JupyterLab takes the arrow keys
    if (mark) drawing.firstElementChild?.append(frameOf(mark));
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
    const find = (/** @type {string | undefined} */ one) => marks().find(({ dataset }) => dataset.key === one);
    const mark = find(key);
    if (!mark) key = '';
    show(mark);
    if (focused) (find(focused.dataset.key) ?? marks()[0])?.focus({ preventScroll: true });
  };
}

/** Drawn, because not every browser outlines what is inside an SVG. @param {SVGGraphicsElement} mark */
function frameOf(mark) {
  const svg = /** @type {SVGSVGElement} */ (mark.ownerSVGElement);
  const [box, ground] = [mark.getBoundingClientRect(), svg.getBoundingClientRect()];
  const scale = svg.viewBox.baseVal.width / ground.width || 1;
  const frame = document.createElementNS(SVG, 'rect');
  const place = {
    x: (box.x - ground.x) * scale - MARGIN, y: (box.y - ground.y) * scale - MARGIN,
    width: box.width * scale + 2 * MARGIN, height: box.height * scale + 2 * MARGIN, rx: 4, class: 'sw-mark',
  };
  for (const [name, value] of Object.entries(place)) frame.setAttribute(name, String(value));
  return frame;
}
