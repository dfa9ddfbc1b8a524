// The state in the page's address: `?ring=4,3`. Commas stay readable, and the fragment is the page's.

/** @param {string} key @returns {string | null} */
export const readAddress = (key) => new URLSearchParams(location.search).get(key);

/**
 * The page's address with one key set, or taken out, and everything else as it is.
 * @param {string} href
 * @param {string} key
 * @param {string} [value]
 */
export function withState(href, key, value) {
  const url = new URL(href);
  const others = url.search.slice(1).split('&').filter((part) => part && part.split('=')[0] !== key);
  url.search = [...others, ...(value === undefined ? [] : [`${key}=${value}`])].join('&');
  return url.href;
}

/**
 * An address that opens at a place of the page; where the place has no id, the address stays as it is.
 * @param {string} href
 * @param {string} [id]
 */
export function withPlace(href, id) {
  const url = new URL(href);
  if (id) url.hash = id;
  return url.href;
}

/** @param {string} key @param {string} [value] */
export function writeAddress(key, value) {
  const href = withState(location.href, key, value);
  try {
    if (href !== location.href) history.replaceState(history.state, '', href);
  } catch {
    // A sandboxed frame or a browser's rate limit: the copied link still carries the state.
  }
  return href;
}
