/** The session that is open: its address, its subscription, what you do to it. */

import { read } from './api.js';
import { ConversationModel } from './conversation_model.js';
import { byId } from './dom.js';
import { Emitter } from './emitter.js';
import { announce, notice } from './notices.js';

const MOST_TURNS = 200;

/** Emits `change` when another session is open. */
export class Shown extends Emitter {
  /** @type {string|null} */
  id = null;
  /** @type {ConversationModel|null} */
  model = null;
  #seenOf = '';

  constructor({ connection, sessions, conversation, head, composer, queue }) {
    super();
    Object.assign(this, { connection, sessions, conversation, head, composer, queue });
  }

  get session() {
    return this.model?.session ?? (this.id ? (this.sessions.rows.get(this.id) ?? null) : null);
  }

  /** Open the session that the address names. */
  fromAddress() {
    const found = /^#\/s\/([0-9a-f-]{36})$/.exec(location.hash);
    this.show(found ? found[1] : null);
  }

  /** @param {string|null} id null: a session that does not exist yet */
  show(id) {
    if (id === this.id && (id === null || this.model !== null)) {
      if (id === null) this.#draw();
      return;
    }
    if (this.id) this.connection.unsubscribe(this.id);
    this.id = id;
    this.model = id ? new ConversationModel(id) : null;
    const address = id ? `#/s/${id}` : '#/new';
    if (location.hash !== address && (id || location.hash)) history.pushState(null, '', address);
    if (id) this.connection.subscribe(id);
    this.conversation.show(this.model);
    this.composer.show(id);
    this.#draw();
    this.emit('change');
  }

  /** @param {{action: string, session_id: string, payload: any}} frame */
  take(frame) {
    if (this.model === null || frame.session_id !== this.id) return;
    const changed = this.model.apply(frame);
    if (changed === null || changed.size > 0) this.conversation.changed(changed);
    if (frame.action === 'session.turn.completed') announce(`The turn ended: ${frame.payload.status}`);
    if (!frame.action.endsWith('.delta') && !frame.action.startsWith('session.tool')) this.#draw();
  }

  updated(session) {
    if (session.id !== this.id || this.model === null) return;
    this.model.session = { ...this.model.session, ...session };
    this.#draw();
    this.look();
  }

  /** The page or the pane may have come into sight. */
  look() {
    if (this.conversation.isAtEnd) this.seen();
  }

  /** Something got a price, perhaps in another process: what had none is read again. */
  async costChanged() {
    const { model } = this;
    const open = model?.ordered.find((turn) => turn.unpriced && turn.ordinal !== null);
    if (!model || !open) return;
    try {
      const { turns } = await read(`sessions/${model.sessionId}/turns`, { after: open.ordinal - 1, limit: MOST_TURNS });
      if (model !== this.model) return;
      const of = ({ cost_usd, unpriced, lost, made_up_usd }) => ({ cost_usd, unpriced, lost, made_up_usd });
      const known = Object.fromEntries(turns.map((turn) => [turn.id, of(turn)]));
      this.conversation.changed(model.apply({ action: 'session.cost.changed', payload: { turns: known } }));
    } catch {
      // The next change, or a reload, reads it again.
    }
  }

  deleted(id) {
    if (id !== this.id) return;
    notice('This session was deleted.');
    this.show(null);
  }

  refused(id, error) {
    if (id !== this.id) return;
    notice(`The session could not be opened: ${error.message}`, { tone: 'failed' });
    if (error.code === 'not_found') this.show(null);
  }

  /** Its end is on screen: it is news no more. */
  seen() {
    const session = this.session;
    const isInSight = !document.hidden && byId('conversation').getClientRects().length > 0;
    if (session === null || !isInSight || !session.unseen) return;
    const what = `${session.id} ${session.state_since}`;
    if (what === this.#seenOf || !this.connection.isOpen) return;
    this.#seenOf = what;
    this.#ask('session.seen');
  }

  stop() {
    const turn = this.model?.active;
    if (turn) this.#ask('turn.cancel', { turn_id: turn.id });
  }

  removeQueued(messageId) {
    this.#ask('queue.remove', { message_id: messageId });
  }

  resumeQueue() {
    this.#ask('queue.resume');
  }

  async #ask(action, payload = {}) {
    try {
      await this.connection.request(action, { session_id: this.id, ...payload });
    } catch (error) {
      if (action !== 'session.seen') notice(`Not done: ${error.message}`, { tone: 'failed' });
    }
  }

  #draw() {
    this.head.update(this.id ? (this.session ?? { title: '…' }) : null);
    this.composer.setRunning(this.model?.active != null);
    this.queue.update(this.model?.queue ?? { waiting: [], paused: false }, {
      isRunning: this.model?.active != null,
      isChild: (this.session?.parent_session_id ?? null) !== null,
    });
    byId('edit-open').hidden = this.session === null;
  }
}
