/** Where you write. It never blocks: what is sent goes to the outbox, the next text may be written at once. */

import { arrange, button, byId, el, setAttribute, setText } from './dom.js';
import { keepDraft, readDraft } from './drafts.js';
import { oneLine, parseTags } from './words.js';

const TALLEST = 0.4;

export class Composer {
  sessionId = null;
  #form = byId('composer');
  #text = /** @type {HTMLTextAreaElement} */ (byId('composer-text'));
  #mode = /** @type {HTMLSelectElement} */ (byId('composer-mode'));
  #stop = byId('composer-stop');
  #profile = /** @type {HTMLSelectElement} */ (byId('new-profile'));
  #tags = /** @type {HTMLInputElement} */ (byId('new-tags'));
  #note = byId('composer-note');
  #unsent = byId('unsent');

  /** @param {{outbox: import('./outbox.js').Outbox, stop: () => void}} parts */
  constructor({ outbox, stop }) {
    this.outbox = outbox;
    this.#form.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#send();
    });
    this.#text.addEventListener('keydown', (event) => this.#key(event));
    this.#text.addEventListener('input', () => this.#written());
    this.#tags.addEventListener('input', () => this.#say(''));
    this.#stop.addEventListener('click', stop);
    outbox.on('change', () => this.#drawUnsent());
    addEventListener('resize', () => this.#grow());
    this.#restore();
    this.#drawUnsent();
  }

  focus() {
    this.#text.focus();
  }

  /** @param {string|null} sessionId null: a new session */
  show(sessionId) {
    this.sessionId = sessionId;
    byId('new-session').hidden = sessionId !== null;
    this.#restore();
    this.#say('');
    this.#drawUnsent();
  }

  /** @param {{id: string, model: string|null, trouble: string|null}[]} profiles */
  setProfiles(profiles, preferred) {
    const chosen = this.#profile.value || preferred;
    this.#profile.replaceChildren(
      ...profiles.map(({ id, model, trouble }) =>
        el('option', { value: id, text: oneLine(`${id}${model ? ` · ${model}` : ''}${trouble ? ' (no key)' : ''}`) }),
      ),
    );
    this.#profile.value = profiles.some(({ id }) => id === chosen) ? chosen : (profiles[0]?.id ?? '');
    this.profiles = profiles;
  }

  setRunning(isRunning) {
    this.#mode.hidden = !isRunning;
    this.#stop.hidden = !isRunning;
    const words = isRunning ? 'Write: it waits in the queue' : 'Write a message';
    setAttribute(this.#text, 'placeholder', this.sessionId === null ? 'What shall be done?' : words);
  }

  #restore() {
    this.#text.value = readDraft(this.sessionId);
    this.#grow();
  }

  #written() {
    keepDraft(this.sessionId, this.#text.value);
    this.#grow();
  }

  #grow() {
    this.#text.style.height = 'auto';
    const wanted = Math.min(this.#text.scrollHeight + 2, innerHeight * TALLEST);
    this.#text.style.height = `${wanted}px`;
  }

  #key(event) {
    // An input method ends its composition with Enter: that Enter is not ours.
    if (event.key !== 'Enter' || event.shiftKey || event.altKey || event.isComposing || event.keyCode === 229) return;
    event.preventDefault();
    if (!event.repeat) this.#send();
  }

  #send() {
    const text = this.#text.value.trim();
    if (!text) return;
    const { tags, bad } = parseTags(this.#tags.value);
    if (this.sessionId === null && bad !== null) {
      this.#say(`"${bad}" is no tag: write key:value, such as client:acme`);
      this.#tags.focus();
      return;
    }
    const begins = this.sessionId === null;
    this.outbox.add({
      session_id: this.sessionId,
      text,
      profile_id: begins ? this.#profile.value || null : null,
      tags: begins ? tags : null,
      mode: this.#mode.hidden ? 'queue' : this.#mode.value,
    });
    this.#text.value = '';
    this.#written();
    this.#say('');
  }

  #say(text) {
    setText(this.#note, text);
    this.#note.hidden = !text;
  }

  /** What has not been accepted yet, or was refused. */
  #drawUnsent() {
    const items = this.outbox.of(this.sessionId);
    arrange(this.#unsent, items.map((item) => this.#unsentRow(item)));
  }

  #unsentRow(item) {
    const row = el('li', { class: item.trouble ? 'tone-failed' : '' }, el('span', { class: 'text', text: item.text }));
    if (item.trouble === null) {
      row.append(el('span', { class: 'word', text: this.outbox.connection.isOpen ? 'sending …' : 'not sent yet' }));
      return row;
    }
    row.append(
      el('span', { class: 'word', text: `✗ not sent: ${item.trouble}` }),
      button('Send again', () => this.outbox.again(item.id)),
      button('Back to the composer', () => this.#takeBack(item)),
    );
    return row;
  }

  #takeBack(item) {
    this.#text.value = [item.text, this.#text.value].filter(Boolean).join('\n\n');
    this.outbox.remove(item.id);
    this.#written();
    this.#text.focus();
  }
}
