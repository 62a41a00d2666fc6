/**
 * The WebSocket: connects for ever, watches the heartbeat, matches answers with requests, and keeps sessions subscribed
 * without a hole.
 *
 * Emits `open` (hello was said), `down` and `state` (`{since, nextAt, login}`), and `notification` (a frame).
 */

import { learnServerTime } from './clock.js';
import { Emitter } from './emitter.js';

const FIRST_DELAY = 1000;
const LONGEST_DELAY = 30000;
const ANSWER_WITHIN = 20000;

/** The connection ended before the answer came: nobody here knows whether the request was carried out. */
export class Unanswered extends Error {}

/** The server's answer was an error; `code` as in the protocol, `answer` what counted instead of ours. */
export class Refused extends Error {
  constructor({ code, message, answer = null }) {
    super(message);
    this.code = code;
    this.answer = answer;
  }
}

export class Connection extends Emitter {
  /** @type {WebSocket|null} */
  #socket = null;
  /** @type {Map<string, {resolve: Function, reject: Function, timer: number}>} */
  #open = new Map();
  /** @type {Map<string, {seq: number|null, boot: string|null, asking: boolean, told: number|null}>} */
  #subscribed = new Map();
  #number = 0;
  #tries = 0;
  #retryTimer = 0;
  #watchTimer = 0;
  #heartbeatMs = 20000;
  /** Milliseconds of the page's own clock; null while connected. @type {number|null} */
  downSince = performance.now();
  nextAt = 0;
  needsLogin = false;
  bootId = null;
  version = '';

  get isOpen() {
    return this.downSince === null;
  }

  start() {
    addEventListener('online', () => this.retryNow());
    document.addEventListener('visibilitychange', () => {
      if (!document.hidden) this.retryNow();
    });
    this.#connect();
  }

  /** Do not wait for the next try. */
  retryNow() {
    if (this.#socket === null) this.#connect();
  }

  /**
   * @param {string} action
   * @param {object} payload
   * @returns {Promise<any>} the answer's payload
   * @throws {Refused|Unanswered}
   */
  request(action, payload = {}) {
    const socket = this.#socket;
    if (!this.isOpen || socket === null) return Promise.reject(new Unanswered('not connected'));
    const id = String(++this.#number);
    return new Promise((resolve, reject) => {
      // A socket that takes frames and never answers is as good as none.
      const timer = setTimeout(() => this.#end(socket), ANSWER_WITHIN);
      this.#open.set(id, { resolve, reject, timer });
      socket.send(JSON.stringify({ id, type: 'request', action, payload }));
    });
  }

  /** Follow a session from now on; its snapshot comes as a notification. @param {string} sessionId */
  subscribe(sessionId) {
    if (this.#subscribed.has(sessionId)) return;
    this.#subscribed.set(sessionId, { seq: null, boot: null, asking: false, told: null });
    if (this.isOpen) this.#ask(sessionId);
  }

  unsubscribe(sessionId) {
    if (this.#subscribed.delete(sessionId) && this.isOpen) {
      this.request('session.unsubscribe', { session_id: sessionId }).catch(ignore);
    }
  }

  #connect() {
    clearTimeout(this.#retryTimer);
    const socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`);
    this.#socket = socket;
    socket.onmessage = (event) => {
      if (socket === this.#socket) this.#take(JSON.parse(event.data));
    };
    socket.onclose = () => this.#end(socket);
    this.#watch(15000);
  }

  #take(frame) {
    this.#watch(this.#heartbeatMs * 2);
    if (frame.action === 'hello') this.#hello(frame.payload);
    else if (frame.type === 'response' || frame.type === 'error') this.#answer(frame);
    else if (frame.action === 'heartbeat') this.#heartbeat(frame.payload);
    else if (frame.seq === undefined || frame.seq === null) this.emit('notification', frame);
    else this.#ofSession(frame);
  }

  #hello(payload) {
    learnServerTime(payload.server_time);
    this.#heartbeatMs = (payload.heartbeat_seconds ?? 20) * 1000;
    this.#watch(this.#heartbeatMs * 2);
    this.bootId = payload.boot_id;
    this.version = payload.version ?? '';
    this.downSince = null;
    this.needsLogin = false;
    this.#tries = 0;
    for (const sessionId of this.#subscribed.keys()) this.#ask(sessionId);
    this.emit('open', payload);
    this.emit('state');
  }

  #answer(frame) {
    const asked = this.#open.get(String(frame.id));
    if (asked === undefined) return;
    this.#open.delete(String(frame.id));
    clearTimeout(asked.timer);
    if (frame.type === 'error') asked.reject(new Refused(frame.payload));
    else asked.resolve(frame.payload);
  }

  #heartbeat({ server_time: time, seqs = {} }) {
    learnServerTime(time);
    for (const [sessionId, seq] of Object.entries(seqs)) {
      const held = this.#subscribed.get(sessionId);
      if (held === undefined || held.asking) continue;
      // A heartbeat may overtake frames; what one has said must be here by the next.
      if (held.told !== null && (held.seq ?? -1) < held.told) this.#ask(sessionId);
      held.told = seq;
    }
  }

  #ofSession(frame) {
    const sessionId = frame.session_id ?? frame.payload?.session_id ?? frame.payload?.session?.id ?? this.#only;
    const held = this.#subscribed.get(sessionId);
    if (held === undefined) return;
    if (frame.action === 'session.resync_required') {
      held.seq = null;
      this.#ask(sessionId);
      return;
    }
    const isNew = frame.action === 'session.snapshot' || frame.boot_id !== held.boot;
    if (!isNew && held.seq !== null) {
      if (frame.seq <= held.seq) return;
      // A frame that stands for several names the first of them.
      if ((frame.first ?? frame.seq) !== held.seq + 1) {
        if (!held.asking) this.#ask(sessionId);
        return;
      }
    } else if (frame.action !== 'session.snapshot') return;
    held.seq = frame.seq;
    held.boot = frame.boot_id ?? this.bootId;
    this.emit('notification', { ...frame, session_id: sessionId });
  }

  /** The session that a frame without a name belongs to. */
  get #only() {
    return this.#subscribed.size === 1 ? [...this.#subscribed.keys()][0] : null;
  }

  async #ask(sessionId) {
    const held = this.#subscribed.get(sessionId);
    if (held === undefined) return;
    held.asking = true;
    held.told = null;
    const from = held.seq === null ? {} : { after_seq: held.seq, boot_id: held.boot };
    try {
      await this.request('session.subscribe', { session_id: sessionId, ...from });
    } catch (error) {
      if (error instanceof Refused) this.emit('refused', { sessionId, error });
    } finally {
      held.asking = false;
    }
  }

  #watch(ms) {
    clearTimeout(this.#watchTimer);
    const socket = this.#socket;
    this.#watchTimer = setTimeout(() => this.#end(socket), ms);
  }

  #end(socket) {
    if (socket === null || socket !== this.#socket) return;
    this.#socket = null;
    clearTimeout(this.#watchTimer);
    socket.close();
    const wasOpen = this.isOpen;
    if (wasOpen) this.downSince = performance.now();
    for (const { reject, timer } of this.#open.values()) {
      clearTimeout(timer);
      reject(new Unanswered('the connection ended'));
    }
    this.#open.clear();
    const delay = Math.min(LONGEST_DELAY, FIRST_DELAY * 1.5 ** this.#tries++) * (0.6 + 0.4 * Math.random());
    this.nextAt = performance.now() + delay;
    this.#retryTimer = setTimeout(() => this.retryNow(), delay);
    if (wasOpen) this.emit('down');
    else this.#lookWhy();
    this.emit('state');
  }

  /** A refused upgrade does not say why: a plain request does. */
  async #lookWhy() {
    try {
      const answer = await fetch('/api/profiles', { cache: 'no-store' });
      this.needsLogin = answer.status === 401 || answer.status === 403;
    } catch {
      this.needsLogin = false;
    }
    if (!this.isOpen) this.emit('state');
  }
}

function ignore() {}

