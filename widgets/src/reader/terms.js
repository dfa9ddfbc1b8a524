// Says what a term means where it is met: on hover and on focus, beside the link to the glossary.
import glossary from 'glossary.json';

/** @type {Record<string, string>} definitions by the anchor of their entry */
const DEFINITIONS = glossary;

/** @param {ParentNode} root */
export function openTerms(root) {
  const tip = document.createElement('div');
  tip.className = 'term-tip';
  tip.id = 'term-tip';
  tip.setAttribute('role', 'tooltip');
  tip.hidden = true;
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (root.querySelectorAll('a.term'))) {
    const text = DEFINITIONS[decodeURIComponent(link.hash.slice(1))];
    if (!text) continue;
    const show = () => {
      tip.textContent = text;
      link.append(tip); // inside the link, so that the pointer may move onto it
      link.setAttribute('aria-describedby', tip.id);
      tip.hidden = false;
      place(tip);
    };
    const hide = () => {
      tip.hidden = true;
      link.removeAttribute('aria-describedby');
    };
    link.addEventListener('mouseenter', show);
    link.addEventListener('focus', show);
    link.addEventListener('mouseleave', hide);
    link.addEventListener('blur', hide);
    link.addEventListener('keydown', (event) => event.key === 'Escape' && hide());
  }
}

/** Under the term, moved sideways so that it stays on the page.
 * @param {HTMLElement} tip */
function place(tip) {
  tip.style.setProperty('--shift', '0px');
  const { left, right } = tip.getBoundingClientRect();
  const over = Math.max(0, right - document.documentElement.clientWidth + 8);
  const shift = over ? -Math.min(over, left - 8) : 0;
  tip.style.setProperty('--shift', `${shift}px`);
}
