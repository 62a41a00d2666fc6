/** Says that the connection is gone: nothing for 3 s, a warning then, red from 10 s on. */

import { byId, setText } from './dom.js';

const WARN_AFTER = 3000;
const RED_AFTER = 10000;

export class OfflineNote {
  #node = byId('offline');
  #text = byId('offline-text');
  #dot = byId('connection');

  /** @param {import('./connection.js').Connection} connection */
  constructor(connection) {
    this.connection = connection;
    byId('offline-retry').addEventListener('click', () => connection.retryNow());
    connection.on('state', () => this.#draw());
    setInterval(() => this.#draw(), 500);
  }

  #draw() {
    const { downSince, nextAt, needsLogin } = this.connection;
    const lasted = downSince === null ? 0 : performance.now() - downSince;
    const level = downSince === null ? 'up' : lasted >= RED_AFTER ? 'down' : lasted >= WARN_AFTER ? 'shaky' : 'up';
    this.#dot.dataset.level = downSince === null ? 'up' : level === 'up' ? 'quiet' : level;
    setText(this.#dot, downSince === null ? 'connected' : level === 'up' ? 'connecting' : 'not connected');
    this.#node.hidden = level === 'up' && !needsLogin;
    this.#node.dataset.level = needsLogin ? 'down' : level;
    if (this.#node.hidden) return;
    const wait = Math.max(0, Math.ceil((nextAt - performance.now()) / 1000));
    const next = wait > 0 ? `next try in ${wait}s` : 'trying …';
    setText(
      this.#text,
      needsLogin
        ? 'This page is not logged in. Open the address that "cos serve" printed; it begins with this one and ends with a token.'
        : `No connection to cos for ${Math.floor(lasted / 1000)}s: what you see may be old. What you send waits here · ${next}`,
    );
  }
}
