// Turns what people do with the controls into traits.
import { controlsOf, showPlaying, valueOf } from './controls.js';
import { makePlayer } from './player.js';

/** @typedef {import('./types.d.ts').StepperControl} Stepper */

/** @type {Record<string, string>} */
const KEYS = {
  ArrowLeft: 'previous', ArrowDown: 'previous', ArrowRight: 'next', ArrowUp: 'next', Home: 'first', End: 'last',
};

/**
 * @template {Record<string, any>} S
 * @param {{ widget: import('./types.d.ts').Widget<S>, root: HTMLElement, signal: AbortSignal, set: (traits: Partial<S>) => void, read: () => S }} options
 */
export function listen({ widget, root, signal, set, read }) {
  const run = () => /** @type {Stepper | undefined} */ (controlsOf(widget, read()).find(({ kind }) => kind === 'stepper'));
  /** @param {string} name @param {any} value */
  const change = (name, value) => set(widget.change?.(read(), name, value) ?? /** @type {any} */ ({ [name]: value }));
  const stepTo = (/** @type {number} */ step) => {
    const stepper = run();
    if (!stepper) return;
    const next = Math.min(stepper.last, Math.max(0, step));
    if (next !== stepper.value) change(stepper.name, next);
  };
  const speed = () => Number(/** @type {HTMLSelectElement | null} */ (root.querySelector('.sw-speed'))?.value ?? 1);
  const player = widget.controls.every(({ kind }) => kind !== 'stepper') ? undefined : makePlayer({
    root,
    signal,
    speed,
    step: (starting) => {
      const { value, last } = /** @type {Stepper} */ (run());
      if (value === last && !starting) return false;
      const next = value === last ? 0 : value + 1;
      stepTo(next);
      return next < last;
    },
    changed: (playing) => showPlaying(root, playing),
  });
  /** @param {string} action */
  function move(action) {
    const stepper = run();
    if (!stepper) return;
    player?.stop();
    const { value, last } = stepper;
    stepTo({ first: 0, previous: value - 1, next: value + 1, last }[action] ?? value);
  }
  const input = (/** @type {Event} */ event) => {
    const element = /** @type {HTMLInputElement} */ (event.target);
    const control = controlsOf(widget, read()).find(({ name }) => name === element.dataset.name);
    if (!control) return;
    player?.stop();
    change(control.name, valueOf(control, element));
  };
  const click = (/** @type {Event} */ event) => {
    const button = /** @type {Element} */ (event.target).closest?.('[data-step]');
    if (!(button instanceof HTMLElement)) return;
    button.focus(); // Safari doesn't, and playing stops when the focus leaves
    if (button.dataset.step === 'play') player?.toggle();
    else move(button.dataset.step ?? '');
  };
  const keydown = (/** @type {KeyboardEvent} */ event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    if (!(event.target instanceof HTMLElement) || !event.target.matches('[data-step]') || !KEYS[event.key]) return;
    event.preventDefault();
    move(KEYS[event.key]);
  };
  root.addEventListener('input', input, { signal });
  root.addEventListener('click', click, { signal });
  root.addEventListener('keydown', keydown, { signal });
  return { speed, playing: () => player?.playing() ?? false, stop: () => player?.stop() };
}
