// Light or dark, in a notebook. What counts is the ground that the widget stands on: VS Code, for one, may put
// widgets on white in its dark theme. Where no ground is painted, the host's own mark decides, then the system.

/** @param {string} color as `getComputedStyle` writes it @returns {number | undefined} relative luminance, if opaque */
function luminance(color) {
  const parts = color.match(/[\d.]+/g)?.map(Number);
  if (!parts || parts.length < 3 || (parts.length > 3 && parts[3] < 0.5)) return undefined;
  const [r, g, b] = parts.slice(0, 3).map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** @param {Element} from @returns {number | undefined} */
function ground(from) {
  for (let node = /** @type {Element | null} */ (from); node; node = node.parentElement) {
    const found = luminance(getComputedStyle(node).backgroundColor);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** @returns {boolean | undefined} */
function hostIsDark() {
  const { body, documentElement: html } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === 'false';
  const kind = body.dataset.vscodeThemeKind;
  if (kind) return kind.includes('dark') || kind === 'vscode-high-contrast';
  if (html.hasAttribute('theme')) return html.getAttribute('theme') === 'dark';
  if (html.classList.contains('dark') || body.classList.contains('dark')) return true;
  return undefined;
}

const MARKS = ['class', 'style', 'theme', 'data-jp-theme-light', 'data-vscode-theme-kind'];

/**
 * Keep `data-theme` of the widget's root right.
 * @param {HTMLElement} root
 * @param {AbortSignal} signal
 */
export function watchTheme(root, signal) {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const decide = () => {
    const light = root.isConnected ? ground(root) : undefined;
    const dark = light === undefined ? (hostIsDark() ?? system.matches) : light < 0.18;
    root.dataset.theme = dark ? 'dark' : 'light';
  };
  const marks = new MutationObserver(decide);
  marks.observe(document.body, { attributes: true, attributeFilter: MARKS });
  marks.observe(document.documentElement, { attributes: true, attributeFilter: MARKS });
  system.addEventListener('change', decide, { signal });
  // JupyterLab swaps the theme's style sheet after it has changed the marks, and fades the ground.
  document.addEventListener('load', decide, { capture: true, signal });
  document.addEventListener('transitionend', decide, { signal });
  signal.addEventListener('abort', () => marks.disconnect());
  decide();
  return decide;
}
