/** Messages that wait for the turn to end, each with a way out. */

import { arrange, button, byId, el, setText } from './dom.js';
import { oneLine, queueWaits } from './words.js';

const MODES = { steer: 'steers', now: 'stops the turn' };

export class QueueView {
  #node = byId('queue');
  #head = byId('queue-head');
  #list = byId('queue-list');
  #resume = byId('queue-resume');

  /** @param {{remove: (id: string) => void, resume: () => void}} parts */
  constructor({ remove, resume }) {
    this.remove = remove;
    this.#resume.addEventListener('click', resume);
  }

  /** @param {{waiting: {id: string, text: string, mode?: string}[], paused: boolean}} queue @param {{isRunning: boolean, isChild: boolean}} session */
  update({ waiting, paused }, { isRunning, isChild }) {
    this.#node.hidden = waiting.length === 0;
    this.#resume.hidden = isChild || !paused;
    const why = queueWaits({ isRunning, paused, isChild, waiting });
    setText(this.#head, `${paused ? '‖' : '»'} ${waiting.length} waiting: ${why}`);
    arrange(this.#list, waiting.map((item) => this.#row(item)));
  }

  #row(item) {
    return el(
      'li',
      {},
      el('span', { class: 'text', text: oneLine(item.text), title: item.text }),
      MODES[item.mode] ? el('span', { class: 'word', text: MODES[item.mode] }) : null,
      button('✕', () => this.remove(item.id), { class: 'quiet', 'aria-label': `remove "${oneLine(item.text).slice(0, 60)}" from the queue` }),
    );
  }
}
