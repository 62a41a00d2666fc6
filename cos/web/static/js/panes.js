/** Which pane is in front where not all have room: the tab bar of narrow screens. */

import { byId } from './dom.js';
import { Emitter } from './emitter.js';

const PANES = ['sessions', 'conversation', 'approvals', 'cost'];

/** Emits `change`. */
export class Panes extends Emitter {
  constructor() {
    super();
    for (const tab of this.#tabs) tab.addEventListener('click', () => this.show(tab.dataset.tab ?? ''));
    byId('tabs').addEventListener('keydown', (event) => this.#key(event));
    this.show('sessions');
  }

  get #tabs() {
    return /** @type {HTMLElement[]} */ ([...byId('tabs').querySelectorAll('[data-tab]')]);
  }

  get current() {
    return document.body.dataset.pane;
  }

  /** @param {string} pane */
  show(pane) {
    document.body.dataset.pane = PANES.includes(pane) ? pane : 'sessions';
    for (const tab of this.#tabs) {
      const isCurrent = tab.dataset.tab === this.current;
      tab.setAttribute('aria-current', isCurrent ? 'page' : 'false');
    }
    this.emit('change');
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const tabs = this.#tabs;
    const at = tabs.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    tabs[(at + step + tabs.length) % tabs.length].focus();
  }
}
