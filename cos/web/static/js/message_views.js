/** The pieces of a turn besides its calls: what you said, what was answered, thinking, notices. Each has `node`. */

import { tick } from './clock.js';
import { el, sanitised, setAttribute, setText } from './dom.js';
import { LiveMarkdown } from './live_markdown.js';
import * as words from './words.js';

const ORIGINS = { queued: 'queued', steered: 'steered into the turn', delegation: 'task', loop: 'cos', compaction: 'summary' };

/** A message of the user. */
export class UserView {
  constructor() {
    this.origin = el('span', { class: 'origin' });
    this.text = el('div', { class: 'said' });
    this.node = el('div', { class: 'message user' }, this.origin, this.text);
  }

  update(message) {
    setText(this.origin, ORIGINS[message.origin] ?? '');
    this.origin.hidden = !ORIGINS[message.origin];
    if (message.html) this.text.replaceChildren(sanitised(message.html));
    else setText(this.text, message.text ?? '');
    this.node.classList.toggle('summary', message.origin === 'compaction');
  }
}

/** An answer: while it streams as live Markdown, then as the server renders it. */
export class AssistantView {
  #live = new LiveMarkdown();
  #shown = null;

  constructor() {
    this.note = el('p', { class: 'note', hidden: true });
    this.node = el('div', { class: 'message assistant' }, this.#live.node, this.note);
  }

  /** @param {any} message a Message, or a reply that streams: then only `text` @param {boolean} isLive */
  update(message, isLive) {
    if (isLive) {
      this.#live.update(message.text);
      return;
    }
    if (this.#shown === message) return;
    this.#shown = message;
    this.#live.node.classList.remove('live');
    if (message.html) {
      this.#live.node.replaceChildren(sanitised(message.html));
    } else this.#live.update(message.text ?? '');
    const isReplaced = message.active === false && message.partial;
    const note = isReplaced ? 'cut; another try took its place' : message.partial ? 'cut here' : '';
    setText(this.note, note);
    this.note.hidden = !note;
    this.node.classList.toggle('replaced', Boolean(isReplaced));
  }
}

/** Thinking, folded away once it is over. */
export class ThinkingView {
  #open = null;
  #isLive = true;

  constructor() {
    this.head = el('button', { type: 'button', class: 'head', on: { click: () => this.#toggle() } });
    this.body = el('div', { class: 'body' });
    this.node = el('section', { class: 'thinking' }, this.head, this.body);
  }

  update(text, isLive) {
    this.#isLive = isLive;
    setText(this.head, isLive ? '◐ thinking' : 'thinking');
    setText(this.body, text);
    this.#fold();
  }

  get #isOpen() {
    return this.#open ?? this.#isLive;
  }

  #toggle() {
    this.#open = !this.#isOpen;
    this.#fold();
  }

  #fold() {
    setAttribute(this.head, 'aria-expanded', String(this.#isOpen));
    this.body.hidden = !this.#isOpen;
  }
}

/** A sentence about the turn that is no part of the conversation. */
export class NoticeView {
  constructor() {
    this.node = el('p', { class: 'notice' });
  }

  /** @param {{text?: string, words?: () => string, tone: string}} notice `words` are said anew every second */
  update({ text, words: ticking, tone }) {
    if (ticking) tick(this.node, () => words.exact(ticking()));
    else setText(this.node, words.exact(text ?? ''));
    this.node.className = `notice tone-${tone}`;
  }
}
