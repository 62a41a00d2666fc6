/**
 * Messages on their way. One that was not answered when the connection ended is sent again with the same id, which the
 * server takes once. They outlive a reload of this tab.
 *
 * Emits `change`, and `accepted` (`{item, answer}`).
 */

import { Refused } from './connection.js';
import { stored } from './drafts.js';
import { Emitter } from './emitter.js';

const KEY = 'cos.outbox';

/** @typedef {{id: string, session_id: string|null, text: string, profile_id: string|null, tags: string[]|null, mode: string, trouble: string|null, after: string|null}} Item */

export class Outbox extends Emitter {
  /** @type {Item[]} */
  items = [];
  #sending = new Set();

  /** @param {import('./connection.js').Connection} connection */
  constructor(connection) {
    super();
    this.connection = connection;
    const kept = stored(() => JSON.parse(sessionStorage.getItem(KEY) ?? '[]'));
    if (Array.isArray(kept)) this.items = kept;
    connection.on('open', () => this.#sendAll());
  }

  /**
   * A message to a session that does not exist yet follows the one that begins it.
   * @param {Omit<Item, 'id'|'trouble'|'after'>} item
   */
  add(item) {
    const begins = item.session_id === null && this.items.find((one) => one.session_id === null && one.trouble === null);
    this.items.push({ ...item, id: newId(), trouble: null, after: begins ? begins.id : null });
    this.#changed();
    this.#sendAll();
  }

  /** Try again what was refused. */
  again(id) {
    const item = this.items.find((one) => one.id === id);
    if (item) item.trouble = null;
    this.#sendAll();
  }

  remove(id) {
    this.items = this.items.filter((item) => item.id !== id);
    this.#changed();
  }

  of(sessionId) {
    return this.items.filter((item) => item.session_id === sessionId);
  }

  #changed() {
    stored(() => sessionStorage.setItem(KEY, JSON.stringify(this.items)));
    this.emit('change');
  }

  #sendAll() {
    if (!this.connection.isOpen) return;
    for (const item of this.items) {
      const waits = this.items.some((one) => one.id === item.after);
      if (item.trouble === null && !waits && !this.#sending.has(item.id)) this.#send(item);
    }
  }

  async #send(item) {
    this.#sending.add(item.id);
    const { id, session_id, text, profile_id, tags, mode } = item;
    const begins = session_id === null ? { profile_id, tags } : { session_id };
    try {
      const answer = await this.connection.request('message.send', { ...begins, text, mode, client_message_id: id });
      this.items = this.items.filter((one) => one.id !== id);
      for (const one of this.items) if (one.after === id) Object.assign(one, { after: null, session_id: answer.session_id });
      this.emit('accepted', { item, answer });
    } catch (error) {
      if (error instanceof Refused) item.trouble = error.message;
    } finally {
      this.#sending.delete(id);
      this.#changed();
    }
    // Those that waited for this one; another try after a broken connection comes with the next one.
    if (!this.items.includes(item)) this.#sendAll();
  }
}

/** A random UUID: `randomUUID` is there on 127.0.0.1 and localhost. */
function newId() {
  return crypto.randomUUID();
}
