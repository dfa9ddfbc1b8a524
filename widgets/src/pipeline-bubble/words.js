// What stands around the drawing.
import { plural } from '../shared/format.js';
import { widget } from './index.js';

export const prompts = [
  'Start at M = 1 with 4 stages. How large is the bubble, and how many devices work at a time?',
  'Set M = 4P for 2, 4, 8 and 16 stages. What does the rule of thumb leave, and does it go away?',
  'Ask for a bubble of at most 10 % with 4 stages, then with 8. How many micro-batches does each take?',
];

/** @param {import('./model.js').State} state */
export const alt = (state) =>
  `Bubble over 1 to 256 micro-batches for ${plural(state.stages, 'stage')}, falling as micro-batches grow. ${widget.say(state)}`;
