// The line beside the buttons.

const PASSES = 4000; // milliseconds that "it worked" stays; what went wrong stays until something else happens

/**
 * @param {HTMLElement} element
 * @param {AbortSignal} signal
 * @returns {(text: string, passes?: boolean) => void} shows a text; one that passes is gone after a while
 */
export function makeMessage(element, signal) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const clear = () => clearTimeout(timer);
  signal.addEventListener('abort', clear);
  return (text, passes = false) => {
    clear();
    element.textContent = text;
    if (passes && !signal.aborted) timer = setTimeout(() => (element.textContent = ''), PASSES);
  };
}
