// From look.json, the one source of colours, to the CSS that pages, widgets and drawings use.

/** @typedef {{ fill: string, on: string }} Paint */
/** @typedef {Record<string, { light: Paint, dark: Paint, letter?: string, texture?: string }>} Look */

/**
 * @param {Look} look
 * @param {'light' | 'dark'} theme
 */
function declarations(look, theme) {
  return Object.entries(look)
    .map(([name, role]) => `--sw-${name}: ${role[theme].fill}; --sw-on-${name}: ${role[theme].on};`)
    .join('\n  ');
}

/** What pages read: light at the root, dark under the page's own class.
 * @param {Look} look */
export function lookCss(look) {
  return `:root {\n  ${declarations(look, 'light')}\n}\nbody.quarto-dark {\n  ${declarations(look, 'dark')}\n}\n`;
}

/** What a notebook needs: no page style defines the colours there, so the widget does it on its own root.
 * @param {Look} look */
export function themeCss(look) {
  return `.sw-root[data-theme="light"] {\n  color-scheme: light;\n  ${declarations(look, 'light')}\n}
.sw-root[data-theme="dark"] {\n  color-scheme: dark;\n  ${declarations(look, 'dark')}\n}\n`;
}

/** One class per role and use: fill, label on the fill, stroke.
 * @param {Look} look */
export function paintCss(look) {
  return Object.keys(look)
    .map(
      (name) =>
        `.sw-fill-${name} { fill: var(--sw-${name}); }\n.sw-on-${name} { fill: var(--sw-on-${name}); }\n` +
        `.sw-stroke-${name} { stroke: var(--sw-${name}); }`,
    )
    .join('\n');
}

/** Give each `var(--sw-x)` its light value as the fallback, for hosts that define none.
 * @param {string} css
 * @param {Look} look */
export function withFallbacks(css, look) {
  return css.replace(/var\(--sw-(on-)?([a-z]+)\)/g, (_, on, name) => {
    if (!look[name]) throw new Error(`--sw-${on ?? ''}${name} is not in look.json`);
    return `var(--sw-${on ?? ''}${name}, ${on ? look[name].light.on : look[name].light.fill})`;
  });
}
