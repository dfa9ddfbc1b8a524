/**
 * Put text on the clipboard; false where the browser refuses.
 * @param {string} text
 * @returns {Promise<boolean>}
 */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copySelected(text); // no permission, or no secure context
  }
}

/** The way of before there was a clipboard: select the text and copy; the focus comes back. @param {string} text */
function copySelected(text) {
  const focused = document.activeElement;
  const area = document.createElement('textarea');
  area.value = text;
  area.style.position = 'fixed'; // or the page would scroll to it
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
