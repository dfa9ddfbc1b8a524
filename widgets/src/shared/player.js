// Steps through a run, one step every `PERIOD`. It stops at the end, when the focus leaves the widget, when
// the widget is out of sight and when the page is.

const PERIOD = 900; // a step's motion takes a third of it; the rest is for reading

/**
 * @param {object} options
 * @param {HTMLElement} options.root
 * @param {AbortSignal} options.signal
 * @param {(starting: boolean) => boolean} options.step moves one step and says whether there is another;
 *   only when starting may it go from the end to the beginning
 * @param {(playing: boolean) => void} options.changed
 */
export function makePlayer({ root, signal, step, changed }) {
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  const stop = () => {
    if (timer === undefined) return;
    clearInterval(timer);
    timer = undefined;
    changed(false);
  };
  const start = () => {
    if (timer !== undefined || !step(true)) return;
    timer = setInterval(() => step(false) || stop(), PERIOD);
    changed(true);
  };
  const seen = new IntersectionObserver((entries) => {
    if (!entries[entries.length - 1].isIntersecting) stop();
  });
  seen.observe(root);
  root.addEventListener('focusout', (event) => root.contains(/** @type {Node | null} */ (event.relatedTarget)) || stop(), { signal });
  document.addEventListener('visibilitychange', () => document.hidden && stop(), { signal });
  window.addEventListener('blur', stop, { signal });
  signal.addEventListener('abort', () => {
    stop();
    seen.disconnect();
  });
  return { stop, playing: () => timer !== undefined, toggle: () => (timer === undefined ? start() : stop()) };
}
