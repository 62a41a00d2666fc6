/** Keys of the whole page. Those of a list or a card are theirs and do not come here. */

import { byId, isWriting } from './dom.js';

/** @param {Record<string, () => void>} actions `filter`, `begin`, `approvals`, `sessions`, `write`, `back` */
export function startKeyboard(actions) {
  const help = /** @type {HTMLDialogElement} */ (byId('help'));
  const keys = { '/': 'filter', n: 'begin', a: 'approvals', s: 'sessions', c: 'write', Escape: 'back' };
  const everywhere = { F2: 'sessions', F4: 'approvals' };
  byId('help-open').addEventListener('click', () => help.showModal());
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || document.querySelector('dialog[open]')) return;
    const isInField = isWriting(event.target);
    const name = everywhere[event.key] ?? (isInField && event.key !== 'Escape' ? undefined : keys[event.key]);
    if (event.key === '?' && !isInField) help.showModal();
    else if (name && !event.repeat) actions[name]();
    else return;
    event.preventDefault();
  });
  for (const dialog of document.querySelectorAll('dialog')) {
    for (const node of dialog.querySelectorAll('[data-close]')) node.addEventListener('click', () => dialog.close());
  }
}
