// What a page of the book does for its reader, in both engines: questions that answer, progress, terms.
import { showProgress } from './progress.js';
import { openQuizzes } from './quiz.js';
import { openTerms } from './terms.js';

function start() {
  openQuizzes(document);
  showProgress();
  openTerms(document);
}

if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', start, { once: true });
else start();
