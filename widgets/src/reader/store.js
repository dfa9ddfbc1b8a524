// What the reader has done, kept by the browser: sections read, questions answered. A browser may refuse to
// keep anything; the page then works and forgets.

const KEY = 'shardwise-progress';

/**
 * @typedef {object} Progress
 * @property {Record<string, true>} read pages whose end was seen
 * @property {Record<string, number>} asked how many questions a page has, known once it was open
 * @property {Record<string, { right: boolean, tries: number }>} answers by question
 */

/** @param {any} value @returns {Progress} whatever of the value is sound */
export function sound(value) {
  /** @type {Progress} */
  const clean = { read: {}, asked: {}, answers: {} };
  for (const [page, read] of entries(value?.read)) if (read === true) clean.read[page] = true;
  for (const [page, count] of entries(value?.asked)) if (Number.isInteger(count) && count > 0) clean.asked[page] = count;
  for (const [id, answer] of entries(value?.answers)) {
    if (typeof answer?.right === 'boolean' && Number.isInteger(answer.tries)) {
      clean.answers[id] = { right: answer.right, tries: answer.tries };
    }
  }
  return clean;
}

/** @param {any} value @returns {[string, any][]} */
const entries = (value) => (value && typeof value === 'object' ? Object.entries(value) : []);

/** @returns {Progress} */
export function load() {
  try {
    return sound(JSON.parse(localStorage.getItem(KEY) ?? '{}'));
  } catch {
    return sound({});
  }
}

/**
 * Change what is kept. Another tab may have written meanwhile, so it is read again first.
 * @param {(progress: Progress) => void} change
 */
export function update(change) {
  const progress = load();
  change(progress);
  try {
    localStorage.setItem(KEY, JSON.stringify(progress));
  } catch {
    // No storage.
  }
  dispatchEvent(new Event(CHANGED));
}

export function erase() {
  try {
    localStorage.removeItem(KEY);
  } catch {
    // No storage.
  }
  dispatchEvent(new Event(CHANGED));
}

/** Fired on the window when something was kept or erased, here or in another tab. */
export const CHANGED = 'shardwise-progress';
addEventListener('storage', (event) => event.key === KEY && dispatchEvent(new Event(CHANGED)));
