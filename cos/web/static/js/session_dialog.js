/** Title and tags of a session. */

import { byId, setText } from './dom.js';
import { oneLine, parseTags } from './words.js';

export class SessionDialog {
  #dialog = /** @type {HTMLDialogElement} */ (byId('edit'));
  #title = /** @type {HTMLInputElement} */ (byId('edit-title'));
  #tags = /** @type {HTMLInputElement} */ (byId('edit-tags'));
  #note = byId('edit-note');

  /** @param {import('./connection.js').Connection} connection */
  constructor(connection) {
    this.connection = connection;
    byId('edit-form').addEventListener('submit', (event) => {
      event.preventDefault();
      this.#save();
    });
  }

  /** @param {any} session */
  open(session) {
    this.session = session;
    this.#title.value = session.title ?? '';
    this.#tags.value = (session.tags ?? []).join(' ');
    setText(this.#note, '');
    this.#dialog.showModal();
  }

  async #save() {
    const { tags, bad } = parseTags(this.#tags.value);
    if (bad !== null) {
      setText(this.#note, `"${oneLine(bad)}" is no tag: write key:value, such as client:acme`);
      return;
    }
    const { id, title, tags: before = [] } = this.session;
    try {
      const wanted = this.#title.value.trim();
      if (wanted && wanted !== title) await this.connection.request('session.rename', { session_id: id, title: wanted });
      if (tags.join() !== before.join()) await this.connection.request('session.tag', { session_id: id, tags });
      this.#dialog.close();
    } catch (error) {
      setText(this.#note, error.message);
    }
  }
}
