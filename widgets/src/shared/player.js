// Steps through a run, one step every `PERIOD` at the speed that is chosen. It stops at the end, when the focus
// leaves the widget, when the widget is out of sight and when the page is.

const PERIOD = 900; // a step's motion takes a third of it; the rest is for reading

/**
 * @param {object} options
 * @param {HTMLElement} options.root
 * @param {AbortSignal} options.signal
 * @param {() => number} options.speed
 * @param {(starting: boolean) => boolean} options.step moves one step and says whether there is another;
 *   only when starting may it go from the end to the beginning
 * @param {(playing: boolean) => void} options.changed
 */
export function makePlayer({ root, signal, speed, step, changed }) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const stop = () => {
    if (timer === undefined) return;
    clearTimeout(timer);
    timer = undefined;
    seen.disconnect();
    changed(false);
  };
  const wait = () => {
    timer = setTimeout(() => (step(false) ? wait() : stop()), PERIOD / speed());
  };
  const start = () => {
    if (timer !== undefined || !step(true)) return;
    wait();
    seen.observe(root);
    changed(true);
  };
  const seen = new IntersectionObserver((entries) => {
    if (!entries[entries.length - 1].isIntersecting) stop();
  });
  // A mark that a redraw takes away gives its focus to the new one in the same task.
  const left = () => root.contains(/** @type {Document} */ (root.getRootNode()).activeElement) || stop();
  root.addEventListener(
    'focusout',
    ({ relatedTarget }) => root.contains(/** @type {Node | null} */ (relatedTarget)) || queueMicrotask(left),
    { signal },
  );
  document.addEventListener('visibilitychange', () => document.hidden && stop(), { signal });
  window.addEventListener('blur', stop, { signal });
  signal.addEventListener('abort', stop);
  return { stop, playing: () => timer !== undefined, toggle: () => (timer === undefined ? start() : stop()) };
}
