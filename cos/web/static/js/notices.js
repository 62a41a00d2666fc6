/** Short notes at the edge, and words for those who hear the page. */

import { button, byId, el } from './dom.js';
import { exact } from './words.js';

const SHOWN = 8000;

/** @param {string} text @param {{tone?: string, stays?: boolean}} [how] `stays`: until it is closed */
export function notice(text, { tone = 'quiet', stays = false } = {}) {
  const node = el('div', { class: `toast tone-${tone}`, role: tone === 'failed' ? 'alert' : 'status' }, el('div', { class: 'text', text: exact(text) }));
  node.append(button('✕', () => node.remove(), { class: 'quiet', 'aria-label': 'close' }));
  byId('notices').append(node);
  if (!stays) setTimeout(() => node.remove(), SHOWN);
}

/** @param {string} text */
export function announce(text) {
  const node = byId('heard');
  node.replaceChildren(text);
}
