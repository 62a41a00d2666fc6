/** The whole text of a request over everything else. Seen to its end, it counts as read. */

import { diffView } from './diff.js';
import { byId, el, setText } from './dom.js';
import { exact, oneLine } from './words.js';

/** @param {any} approval @param {() => void} seen called when it is closed after its end was on screen */
export function showWhole(approval, seen) {
  const dialog = /** @type {HTMLDialogElement} */ (byId('whole'));
  const body = byId('whole-body');
  setText(byId('whole-title'), oneLine(approval.kind === 'question' ? 'A question for you' : `${approval.tool}: ${approval.title}`));
  const text = el('pre', { class: 'exact', text: exact(approval.detail || approval.title || '') });
  body.replaceChildren(...(approval.diff ? [diffView(approval.diff)] : []), ...(approval.diff && !approval.detail ? [] : [text]));
  let isSeen = false;
  const look = () => {
    isSeen ||= body.scrollTop + body.clientHeight >= body.scrollHeight - 4;
  };
  body.onscroll = look;
  dialog.onclose = () => {
    if (isSeen) seen();
  };
  dialog.showModal();
  body.focus();
  requestAnimationFrame(look);
}
