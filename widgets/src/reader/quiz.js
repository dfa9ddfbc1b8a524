// Turns a question that reads on paper into one that answers. The page holds the question, its options as a
// list and the folded answer; the answer's parts become the feedback.
import { load, update } from './store.js';

/** @typedef {{ right: boolean, why: Node[], mark?: HTMLElement }} Verdict */

let count = 0;

/** @param {ParentNode} root */
export function openQuizzes(root) {
  for (const box of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll('.quiz[data-quiz]'))) open(box);
}

/** @param {HTMLElement} box */
function open(box) {
  const answer = box.querySelector('.callout');
  const kind = box.dataset.kind ?? '';
  if (!answer || !(kind in KINDS)) return;
  const list = /** @type {HTMLElement | null} */ (box.querySelector(':scope > ol'));
  const id = `quiz${++count}`;
  const question = element('div', { className: 'quiz-question', id });
  question.append(...[...box.children].filter((child) => child !== list && child !== answer));
  const form = element('form', { className: 'quiz-form', noValidate: true });
  const judge = KINDS[kind]({ box, form, list, answer, label: id });
  const said = element('div', { className: 'quiz-said' });
  said.setAttribute('role', 'status');
  const check = element('button', { className: 'quiz-check', textContent: 'Check' });
  form.append(check, said);
  box.replaceChildren(question, form);
  box.dataset.ready = '';
  showKept(box);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const verdict = judge();
    for (const marked of box.querySelectorAll('[data-verdict]')) marked.removeAttribute('data-verdict');
    if (typeof verdict === 'string') {
      said.replaceChildren(verdict);
      return;
    }
    verdict.mark?.setAttribute('data-verdict', verdict.right ? 'right' : 'wrong');
    const word = element('strong', { textContent: verdict.right ? '✓ Right. ' : '✕ Not yet. ' });
    said.replaceChildren(word, ...verdict.why.map((node) => node.cloneNode(true)));
    keep(box.dataset.quiz ?? '', verdict.right);
    showKept(box);
  });
}

/** @param {string} id @param {boolean} right */
function keep(id, right) {
  update(({ answers }) => {
    const before = answers[id] ?? { right: false, tries: 0 };
    answers[id] = { right: before.right || right, tries: before.tries + 1 };
  });
}

/** @param {HTMLElement} box */
function showKept(box) {
  if (load().answers[box.dataset.quiz ?? '']?.right) box.dataset.done = '';
  else delete box.dataset.done;
}

/**
 * @typedef {object} Parts
 * @property {HTMLElement} box
 * @property {HTMLFormElement} form gets the controls
 * @property {HTMLElement | null} list the options as the page holds them
 * @property {Element} answer
 * @property {string} label id of the question
 */

/** Each fills the form and returns what judges its state: a verdict, or what is missing.
 * @type {Record<string, (parts: Parts) => () => Verdict | string>} */
const KINDS = { choice, order, number };

/** @param {Parts} parts */
function choice({ box, form, list, answer, label }) {
  const whys = [...answer.querySelectorAll('li')].map((item) => withoutWord(item));
  const group = element('div', { className: 'quiz-options' });
  group.setAttribute('role', 'radiogroup');
  group.setAttribute('aria-labelledby', label);
  const options = [...(list?.children ?? [])].map((item, place) => {
    const option = element('label', { className: 'quiz-option' });
    const text = element('span');
    text.append(...item.childNodes);
    option.append(element('input', { type: 'radio', name: label, value: String(place) }), text);
    return option;
  });
  group.append(...options);
  form.append(group);
  return () => {
    const chosen = /** @type {HTMLInputElement | null} */ (form.querySelector('input:checked'));
    if (!chosen) return 'Choose an answer first.';
    const place = Number(chosen.value);
    return { right: place === Number(box.dataset.right), why: whys[place], mark: options[place] };
  };
}

/** @param {Parts} parts */
function number({ box, form, answer, label }) {
  const unit = box.dataset.unit ?? '';
  const values = (box.dataset.answers ?? '').split(' ').map(Number);
  const whys = [...answer.querySelectorAll('p')].map((item) => withoutWord(item));
  const field = element('label', { className: 'quiz-number' });
  const input = element('input', { type: 'text', inputMode: 'decimal', autocomplete: 'off' });
  input.setAttribute('aria-describedby', label);
  field.append('Your answer ', input, unit && ` ${unit}`);
  form.append(field);
  return () => {
    const typed = parse(input.value, unit);
    if (Number.isNaN(typed)) return `Type a number, such as ${values.at(-1) === 12 ? 15 : 12}.`;
    const near = (/** @type {number} */ value) =>
      Math.abs(typed - value) <= Number(box.dataset.tolerance) * Math.abs(value) + Number.EPSILON;
    const place = values.findIndex(near);
    const why = place < 0 ? [document.createTextNode('Work it out once more, or open the section that explains it.')] : whys[place];
    return { right: place === 0, why, mark: field };
  };
}

/** A number as people write it: with its unit, spaces between digits, a decimal comma.
 * @param {string} text @param {string} unit */
export function parse(text, unit) {
  const bare = text.replace(unit, '').replace(/[\s_\u00a0]/g, '');
  return bare ? Number(/^[^.]*,\d*$/.test(bare) ? bare.replace(',', '.') : bare) : NaN;
}

/** @param {Parts} parts */
function order({ form, list, answer, label }) {
  const right = [...answer.querySelectorAll('li')].map((item) => item.textContent?.trim());
  const why = [...answer.querySelectorAll('p')].flatMap((item) => (item.closest('li') ? [] : [...item.childNodes]));
  const rows = element('ol', { className: 'quiz-order' });
  rows.setAttribute('aria-labelledby', label);
  const moved = element('span', { className: 'visually-hidden' });
  moved.setAttribute('role', 'status');
  for (const item of [...(list?.children ?? [])]) {
    const text = element('span', { className: 'quiz-item' });
    text.append(...item.childNodes);
    const row = element('li');
    const name = text.textContent?.trim();
    for (const [sign, word, by] of /** @type {const} */ ([['↑', 'up', -1], ['↓', 'down', 1]])) {
      const button = element('button', { type: 'button', textContent: sign, className: 'quiz-move' });
      button.setAttribute('aria-label', `Move ${word}: ${name}`);
      button.addEventListener('click', () => {
        const other = by < 0 ? row.previousElementSibling : row.nextElementSibling;
        if (!other) return;
        other[by < 0 ? 'before' : 'after'](row);
        button.focus();
        moved.textContent = `${name} is now at place ${[...rows.children].indexOf(row) + 1}.`;
      });
      row.append(button);
    }
    row.append(text);
    rows.append(row);
  }
  form.append(rows, moved);
  return () => {
    const found = [...rows.querySelectorAll('.quiz-item')].map((item) => item.textContent?.trim());
    const first = found.findIndex((text, place) => text !== right[place]);
    if (first < 0) return { right: true, why, mark: rows };
    const hint = first === 0 ? 'Something else comes first.' : `The first ${first} ${first === 1 ? 'is' : 'are'} right.`;
    return { right: false, why: [document.createTextNode(hint)], mark: rows };
  };
}

/** The explanation without its first word, which is said as a mark. @param {Element} item @returns {Node[]} */
function withoutWord(item) {
  const copy = /** @type {Element} */ (item.cloneNode(true));
  copy.querySelector('strong')?.remove();
  return [...(copy.children.length === 1 && copy.firstElementChild?.tagName === 'P' ? copy.firstElementChild : copy).childNodes];
}

/**
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<HTMLElementTagNameMap[K]>} [properties]
 * @returns {HTMLElementTagNameMap[K]}
 */
const element = (tag, properties) => Object.assign(document.createElement(tag), properties);
