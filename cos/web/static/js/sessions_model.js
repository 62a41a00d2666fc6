/** The sessions that were read so far, in the order in which the list shows them: those that need you come first. */

import { read } from './api.js';
import { Emitter } from './emitter.js';

const WAITING = new Set(['waiting_approval', 'waiting_answer']);
const RUNNING = new Set(['thinking', 'tool', 'retrying', 'running']);

/** Emits `change`, and `trouble` with words when the list could not be read. */
export class SessionsModel extends Emitter {
  /** @type {Map<string, any>} */
  rows = new Map();
  filter = '';
  next = null;
  isReading = false;
  #reading = 0;
  #soon = 0;

  /** Read the list anew; what is shown stays until the answer is here. */
  async reload() {
    const mine = ++this.#reading;
    this.isReading = true;
    try {
      const page = await read('sessions', { filter: this.filter, limit: 50 });
      if (mine !== this.#reading) return;
      const found = new Map(page.sessions.map((session) => [session.id, session]));
      // Parents stand before their children here, so that those of a child that is kept are kept, too.
      for (const [id, row] of this.rows) if (!found.has(id) && found.has(row.parent_session_id)) found.set(id, row);
      this.rows = found;
      this.next = page.next;
      this.emit('trouble', null);
    } catch (error) {
      if (mine === this.#reading) this.emit('trouble', error.message);
    } finally {
      if (mine === this.#reading) this.isReading = false;
    }
    this.emit('change');
  }

  /** A row that may belong here has changed; only the server knows. */
  reloadSoon() {
    clearTimeout(this.#soon);
    this.#soon = setTimeout(() => this.reload(), 500);
  }

  /** Something got a price, perhaps in another process: what had none is read again. */
  costChanged() {
    if ([...this.rows.values()].some((row) => row.unpriced)) this.reloadSoon();
  }

  async more() {
    if (this.next === null || this.isReading) return;
    const mine = this.#reading;
    this.isReading = true;
    try {
      const page = await read('sessions', { filter: this.filter, after: this.next, limit: 50 });
      if (mine !== this.#reading) return;
      for (const session of page.sessions) if (!this.rows.has(session.id)) this.rows.set(session.id, session);
      this.next = page.next;
    } catch (error) {
      this.emit('trouble', error.message);
    } finally {
      this.isReading = false;
    }
    this.emit('change');
  }

  /** The children of a session stand below it from now on. */
  async readChildren(sessionId) {
    try {
      const page = await read('sessions', { parent: sessionId });
      for (const session of page.sessions) this.rows.set(session.id, session);
      this.emit('change');
    } catch (error) {
      this.emit('trouble', error.message);
    }
  }

  /** A row that is new or newer. With a filter only the server knows which new rows belong. */
  put(session) {
    if (this.filter && !this.rows.has(session.id)) return false;
    this.rows.set(session.id, { ...this.rows.get(session.id), ...session });
    this.emit('change');
    return true;
  }

  drop(sessionId) {
    if (this.rows.delete(sessionId)) this.emit('change');
  }

  get waiting() {
    return [...this.rows.values()].filter((row) => WAITING.has(row.state)).length;
  }

  /** @returns {{row: any, depth: number}[]} children below their parents; archived ones only where they are asked for */
  shown() {
    const children = new Map();
    const roots = [];
    for (const row of this.rows.values()) {
      if (row.archived && !this.filter) continue;
      const parent = row.parent_session_id && this.rows.has(row.parent_session_id) ? row.parent_session_id : null;
      if (parent === null) roots.push(row);
      else children.set(parent, [...(children.get(parent) ?? []), row]);
    }
    const found = [];
    const add = ({ row, below }, depth) => {
      found.push({ row, depth });
      for (const child of below) add(child, depth + 1);
    };
    const family = (row) => {
      const below = (children.get(row.id) ?? []).map(family).sort(byNeed);
      return { row, below, neediest: [{ neediest: row }, ...below].sort(byNeed)[0].neediest };
    };
    for (const root of roots.map(family).sort(byNeed)) add(root, 0);
    return found;
  }
}

export function isWaiting(row) {
  return WAITING.has(row.state);
}

export function isRunning(row) {
  return RUNNING.has(row.state);
}

function rank(row) {
  if (WAITING.has(row.state)) return 0;
  if (RUNNING.has(row.state)) return 2;
  if (row.queued) return 3;
  return row.unseen && !row.archived ? 1 : 4;
}

/** A request that waits longest comes first; else what happened last. A child that needs you lifts its parents. */
function byNeed({ neediest: one }, { neediest: other }) {
  const place = rank(one) - rank(other);
  if (place !== 0) return place;
  const key = rank(one) === 4 ? 'last_activity_at' : 'state_since';
  const time = String(other[key] ?? '').localeCompare(String(one[key] ?? ''));
  return (rank(one) === 0 ? -time : time) || (one.id < other.id ? 1 : -1);
}
