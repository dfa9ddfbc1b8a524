// Marks in the list of chapters what was read and answered, and lets the reader take it away or erase it.
import { CHANGED, erase, load, sound, update } from './store.js';

// Our own pages, and Quarto's.
const CHAPTERS = '.chapters a, #quarto-sidebar a.sidebar-link';
const SIDEBAR = '#sw-menu, #quarto-sidebar';

/** "chapter/memory.html" as questions name it: "memory". @param {string} href */
const pageOf = (href) => new URL(href, location.href).pathname.split('/').pop()?.replace(/\.html$/, '') || 'index';

export function showProgress() {
  const here = pageOf(location.href);
  const questions = document.querySelectorAll('.quiz[data-quiz]').length;
  if (questions && load().asked[here] !== questions) update(({ asked }) => void (asked[here] = questions));
  const side = document.querySelector(SIDEBAR);
  if (!side) return;
  const panel = makePanel();
  side.append(panel.box);
  const show = () => {
    markChapters();
    panel.show();
  };
  addEventListener(CHANGED, show);
  show();
  watchEnd(here);
}

/** A section counts as read once its end has been on screen. @param {string} here */
function watchEnd(here) {
  const end = document.querySelector('.colophon, .page-navigation, main > section:last-of-type > :last-child');
  if (!end) return;
  new IntersectionObserver((entries, observer) => {
    if (!entries.at(-1)?.isIntersecting || scrollY === 0) return;
    observer.disconnect();
    update(({ read }) => void (read[here] = true));
  }).observe(end);
}

/** @param {string} page */
function partsOf(page) {
  const { read, asked, answers } = load();
  const right = Object.entries(answers).filter(([id, answer]) => id.startsWith(`${page}/`) && answer.right).length;
  return { read: read[page] === true, right, asked: asked[page] ?? 0 };
}

function markChapters() {
  for (const link of /** @type {NodeListOf<HTMLAnchorElement>} */ (document.querySelectorAll(CHAPTERS))) {
    const { read, right, asked } = partsOf(pageOf(link.href));
    let mark = link.querySelector('.read');
    if (!read && !asked) {
      mark?.remove();
      continue;
    }
    if (!mark) {
      mark = document.createElement('span');
      mark.className = 'read';
      link.append(mark);
    }
    const signs = [asked && `${right}/${asked}`, read && '✓'].filter(Boolean).join(' ');
    const words = [asked && `${right} of ${asked} questions answered`, read && 'read'].filter(Boolean).join(', ');
    mark.innerHTML = `<span aria-hidden="true">${signs}</span><span class="visually-hidden">${words}</span>`;
  }
}

function makePanel() {
  const box = document.createElement('details');
  box.className = 'progress';
  box.innerHTML = `<summary>Your progress</summary>
<p class="progress-sum"></p>
<p class="progress-note">Kept by this browser, and sent nowhere.</p>
<div class="progress-actions"><button type="button" data-do="export">Export</button><label class="progress-import">Import<input type="file" accept="application/json,.json"></label><button type="button" data-do="erase">Erase</button></div>
<p class="progress-said" role="status"></p>`;
  const [sum, said] = ['.progress-sum', '.progress-said'].map((part) => /** @type {HTMLElement} */ (box.querySelector(part)));
  let sure = false;
  box.addEventListener('click', (event) => {
    const button = /** @type {Element} */ (event.target).closest('[data-do]');
    if (!(button instanceof HTMLElement)) return;
    if (button.dataset.do === 'export') {
      download();
      said.textContent = 'Saved as shardwise-progress.json.';
    } else if (!sure) {
      said.textContent = 'Press Erase again to forget everything.';
    } else {
      erase();
      said.textContent = 'Erased.';
    }
    sure = button.dataset.do === 'erase' && !sure;
  });
  box.querySelector('input')?.addEventListener('change', async (event) => {
    const file = /** @type {HTMLInputElement} */ (event.target).files?.[0];
    try {
      const kept = sound(JSON.parse((await file?.text()) ?? ''));
      const known = Object.keys(kept.read).length + Object.keys(kept.answers).length;
      if (!known) throw new Error('nothing in it');
      update((progress) => void Object.assign(progress, kept));
      said.textContent = 'Imported.';
    } catch {
      said.textContent = `${file?.name ?? 'The file'} holds no progress: take one that Export saved.`;
    }
  });
  const show = () => {
    const pages = [...document.querySelectorAll(CHAPTERS)].map((link) => partsOf(pageOf(/** @type {HTMLAnchorElement} */ (link).href)));
    const total = (/** @type {(part: ReturnType<typeof partsOf>) => number} */ of) => pages.reduce((n, part) => n + of(part), 0);
    sum.textContent = `${total((part) => Number(part.read))} of ${pages.length} pages read, ${total((part) => part.right)} of ${total((part) => part.asked)} questions that you have met answered.`;
  };
  return { box, show };
}

function download() {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob([JSON.stringify(load(), null, 2)], { type: 'application/json' }));
  link.download = 'shardwise-progress.json';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
