/** The number that waits, in the page's title, on its tabs, and as a notification when the page is hidden. */

import { byId, setText } from './dom.js';
import { stored } from './drafts.js';
import { announce, notice } from './notices.js';
import { oneLine } from './words.js';

const KEY = 'cos.notify';

export class Attention {
  #button = byId('notify');

  /** @param {{model: import('./approvals_model.js').ApprovalsModel, open: () => void}} parts */
  constructor({ model, open }) {
    this.model = model;
    this.open = open;
    model.on('change', () => this.#count());
    model.on('requested', (approval) => this.#requested(approval));
    this.#button.hidden = !('Notification' in window);
    this.#button.addEventListener('click', () => this.#toggle());
    this.#draw();
  }

  get #isOn() {
    return 'Notification' in window && Notification.permission === 'granted' && stored(() => localStorage.getItem(KEY)) === 'on';
  }

  #count() {
    const count = this.model.pending.length;
    document.title = count ? `(${count}) cos` : 'cos';
    for (const node of document.querySelectorAll('[data-waiting]')) {
      setText(node, count ? String(count) : '');
      /** @type {HTMLElement} */ (node).hidden = count === 0;
    }
  }

  #requested(approval) {
    const what = approval.kind === 'question' ? 'A question for you' : `Approval of ${oneLine(approval.tool)}`;
    const where = oneLine(approval.root_title ? `${approval.session_title} ← ${approval.root_title}` : approval.session_title);
    announce(`${what} in ${where}. Press a to go to approvals.`);
    if (!document.hidden || !this.#isOn) return;
    const shown = new Notification(`cos: ${what}`, { body: where, tag: approval.id });
    shown.onclick = () => {
      window.focus();
      this.open();
      shown.close();
    };
  }

  async #toggle() {
    if (this.#isOn) stored(() => localStorage.setItem(KEY, 'off'));
    else if ((await Notification.requestPermission()) === 'granted') stored(() => localStorage.setItem(KEY, 'on'));
    else notice('The browser does not let this page notify you. Its settings for this site decide.');
    this.#draw();
  }

  #draw() {
    this.#button.setAttribute('aria-pressed', String(this.#isOn));
    this.#button.title = this.#isOn ? 'Notifications are on while this page is hidden' : 'Notify me of requests while this page is hidden';
  }
}
