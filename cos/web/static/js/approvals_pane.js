/** The requests of every session, oldest first. */

import { disarmAll } from './arming.js';
import { ApprovalCard } from './approval_card.js';
import { arrange, byId, isWriting, setText } from './dom.js';
import { perFrame } from './emitter.js';

export class ApprovalsPane {
  /** @type {Map<string, ApprovalCard>} */
  #cards = new Map();
  #order = '';
  #list = byId('approval-list');

  /** @param {{model: import('./approvals_model.js').ApprovalsModel, openSession: (id: string) => void}} parts */
  constructor({ model, openSession }) {
    this.model = model;
    this.openSession = openSession;
    this.draw = perFrame(() => this.#draw());
    model.on('change', this.draw);
    this.#list.addEventListener('keydown', (event) => this.#key(event));
  }

  /** The focus goes to the oldest request that waits; the letters count only there. */
  focus() {
    const first = this.model.pending[0];
    (first ? this.#cards.get(first.approval.id)?.node : this.#list)?.focus();
  }

  #draw() {
    const shown = this.model.shown;
    const ids = new Set(shown.map(({ approval }) => approval.id));
    const hadFocus = this.#list.contains(document.activeElement);
    for (const [id, card] of this.#cards) {
      if (ids.has(id)) continue;
      card.end();
      this.#cards.delete(id);
    }
    const cards = shown.map((held) => this.#card(held));
    arrange(this.#list, cards.map((card) => card.node));
    const order = [...ids].join(' ');
    // What lies under the pointer may be another request now.
    if (order !== this.#order) disarmAll();
    this.#order = order;
    if (hadFocus && !this.#list.contains(document.activeElement)) this.#list.focus();
    const count = this.model.pending.length;
    setText(byId('approvals-count'), count ? String(count) : '');
    byId('approvals-count').hidden = count === 0;
    byId('approvals-empty').hidden = shown.length > 0;
  }

  #card(held) {
    let card = this.#cards.get(held.approval.id);
    if (card === undefined) {
      card = new ApprovalCard({ respond: (approval, decision) => this.model.respond(approval, decision), openSession: this.openSession });
      this.#cards.set(held.approval.id, card);
    }
    card.update(held);
    return card;
  }

  #key(event) {
    if (isWriting(event.target) || event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const nodes = [...this.#cards.values()].map((card) => card.node);
    const ordered = [...this.#list.children].filter((node) => nodes.includes(/** @type {any} */ (node)));
    const at = ordered.indexOf(/** @type {Element} */ (document.activeElement));
    const next = /** @type {HTMLElement|undefined} */ (ordered[Math.min(ordered.length - 1, Math.max(0, at + step))]);
    next?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  }
}
