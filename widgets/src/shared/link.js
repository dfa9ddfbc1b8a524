// Widgets of one page whose links name the same trait share its value.
import { setSound, soundState } from './state.js';
import { cut } from './text.js';

/** @typedef {{ widget: import('./types.d.ts').Widget<any>, model: import('./types.d.ts').Model, pinned: boolean }} Member */

/** @type {Map<string, Set<Member>>} */
const groups = new Map();

/** @param {Member} member @param {string} trait @param {unknown} value */
function take({ widget, model }, trait, value) {
  if (Object.is(model.get(trait), value)) return;
  const state = soundState(widget, (name) => model.get(name));
  setSound(widget, model, widget.change?.(state, trait, value) ?? { [trait]: value });
}

/**
 * Share a trait from now on. A newcomer's value is everyone's, unless the page's address has set another's;
 * what one of them can't show it doesn't take, and says so.
 * @param {string} trait
 * @param {Member} member
 * @param {AbortSignal} signal
 */
export function share(trait, member, signal) {
  const group = groups.get(trait) ?? new Set();
  groups.set(trait, group);
  const pinned = member.pinned ? undefined : [...group].find((other) => other.pinned);
  const tell = (/** @type {Member} */ to, /** @type {Member} */ from) => {
    const value = from.model.get(trait);
    try {
      take(to, trait, value);
      if (to.model.get('note')) to.model.set('note', '');
    } catch (error) {
      to.model.set('note', `${from.widget.title} has ${trait} ${cut(value)}, which isn’t shown here: ${/** @type {Error} */ (error).message}`);
    }
  };
  group.add(member);
  const spread = () => group.forEach((other) => other !== member && tell(other, member));
  if (pinned) tell(member, pinned);
  else spread();
  member.model.on(`change:${trait}`, spread);
  signal.addEventListener('abort', () => {
    member.model.off(`change:${trait}`, spread);
    group.delete(member);
    if (!group.size) groups.delete(trait);
  });
}
