/** What waits for you, of every session, and what became of your answers. */

import { read } from './api.js';
import { Refused } from './connection.js';
import { lateWords } from './decisions.js';
import { Emitter } from './emitter.js';

const SHOWN_AFTERWARDS = 6000;

/** @typedef {'sending'|'unknown'|'lost'|null} Sent `unknown`: the connection broke before the server said anything */

/** Emits `change`, `requested` (an Approval that is new) and `failed` (words). */
export class ApprovalsModel extends Emitter {
  /** @type {Map<string, {approval: any, sent: Sent, said: string}>} */
  held = new Map();
  isLoaded = false;
  /** Those that were resolved while what waits is being read. @type {Set<string>} */
  #over = new Set();

  /** @param {import('./connection.js').Connection} connection */
  constructor(connection) {
    super();
    this.connection = connection;
    connection.on('open', () => this.reload());
  }

  /** Oldest first, so that a new one moves no other. */
  get shown() {
    const key = ({ approval }) => `${approval.requested_at} ${approval.id}`;
    return [...this.held.values()].sort((one, other) => (key(one) < key(other) ? -1 : 1));
  }

  get pending() {
    return this.shown.filter(({ approval }) => approval.status === 'pending');
  }

  /** Since when the oldest request of a turn waits. @returns {string|null} */
  waitsSince(turnId) {
    return this.pending.find(({ approval }) => approval.turn_id === turnId)?.approval.requested_at ?? null;
  }

  async reload() {
    const before = new Set(this.held.keys());
    const over = (this.#over = new Set());
    let page;
    try {
      page = await read('approvals');
    } catch (error) {
      this.emit('failed', `What waits for you could not be read: ${error.message}`);
      return;
    }
    const waiting = new Set(page.approvals.map((approval) => approval.id));
    for (const approval of page.approvals) if (!over.has(approval.id)) this.put(approval);
    for (const id of before) if (!waiting.has(id)) this.#isGone(id);
    for (const held of this.held.values()) {
      if (held.sent === 'unknown' && held.approval.status === 'pending') held.sent = 'lost';
    }
    this.isLoaded = true;
    this.emit('change');
  }

  /** Resolved while nobody here could hear it. */
  #isGone(id) {
    const held = this.held.get(id);
    if (held?.approval.status === 'pending') this.put({ ...held.approval, status: 'gone' });
  }

  put(approval) {
    const held = this.held.get(approval.id);
    if (held && held.approval.status !== 'pending' && approval.status === 'pending') return;
    if (approval.status !== 'pending') this.#over.add(approval.id);
    if (!held && approval.status !== 'pending') return;
    this.held.set(approval.id, { approval: { ...held?.approval, ...approval }, sent: held?.sent ?? null, said: held?.said ?? '' });
    if (approval.status !== 'pending') setTimeout(() => this.#forget(approval.id), SHOWN_AFTERWARDS);
    else if (!held && this.isLoaded) this.emit('requested', approval);
    this.emit('change');
  }

  #forget(id) {
    this.held.delete(id);
    this.emit('change');
  }

  /**
   * Decide. The decision is bound to exactly what was shown.
   * @param {any} approval
   * @param {{choice: string, reason?: string, text?: string, edited_args?: string}} decision
   */
  async respond(approval, decision) {
    const held = this.held.get(approval.id);
    if (!held || held.sent === 'sending' || held.approval.status !== 'pending') return;
    this.#mark(approval.id, 'sending', '');
    const payload = { approval_id: approval.id, content_hash: approval.content_hash, ...decision };
    try {
      const answer = await this.connection.request('approval.respond', payload);
      this.put({ ...approval, ...answer });
      if (answer.warning) this.emit('failed', answer.warning);
    } catch (error) {
      const isKnown = error instanceof Refused;
      this.#mark(approval.id, isKnown ? null : 'unknown', isKnown ? error.message : '');
      if (isKnown && error.answer) {
        const answered = { ...approval, ...error.answer, answer_reason: error.answer.reason };
        this.put(answered);
        this.emit('failed', lateWords(answered));
      }
      else if (isKnown) this.reload();
    }
  }

  #mark(id, sent, said) {
    const held = this.held.get(id);
    if (held) this.held.set(id, { ...held, sent, said });
    this.emit('change');
  }
}
