// The numbers of a drawing as a table that can be read, selected and copied.
import { markup } from './text.js';

/** @param {import('./types.d.ts').Table} table */
export const tableMarkup = ({ caption, head, rows }) => markup`<table><caption>${caption}</caption>
<thead><tr>${head.map((name) => markup`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((row) => markup`<tr>${row.map((cell, i) => (i ? markup`<td>${cell}</td>` : markup`<th scope="row">${cell}</th>`))}</tr>`)}</tbody></table>`;

/**
 * Keep the table in step while it is open.
 * @param {HTMLDetailsElement} box
 * @param {AbortSignal} signal
 * @param {() => import('./types.d.ts').Table} table
 */
export function liveTable(box, signal, table) {
  const body = /** @type {HTMLElement} */ (box.lastElementChild);
  const show = () => {
    if (box.open) body.innerHTML = tableMarkup(table()).text;
  };
  box.addEventListener('toggle', show, { signal });
  return show;
}
