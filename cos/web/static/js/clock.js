/** The server's clock: its times are compared with it, and the browser's may be wrong. */

import { setText } from './dom.js';

let offset = 0;
/** @type {Map<Element, () => string>} */
const ticking = new Map();

/** Take the server's time from an answer. @param {string|undefined} iso */
export function learnServerTime(iso) {
  const theirs = iso ? Date.parse(iso) : NaN;
  if (!Number.isNaN(theirs)) offset = theirs - Date.now();
}

/** Milliseconds, as the server would say. */
export const now = () => Date.now() + offset;

/** How long ago, never negative. @param {string|null} iso */
export const since = (iso) => (iso ? Math.max(0, now() - Date.parse(iso)) : 0);

/** `node` shows `words()` now and again every second, until it leaves the page or gets other words. */
export function tick(node, words) {
  ticking.set(node, words);
  setText(node, words());
}

export function stopTick(node) {
  ticking.delete(node);
}

function beat() {
  for (const [node, words] of ticking) {
    if (node.isConnected) setText(node, words());
    else ticking.delete(node);
  }
}

export function startClock() {
  setInterval(() => {
    if (!document.hidden) beat();
  }, 1000);
  document.addEventListener('visibilitychange', beat);
}
