/** Unified diffs in colour; the sign stays, so that colour is not all. */

import { el } from './dom.js';
import { exact } from './words.js';

const KINDS = [['+++ ', 'file'], ['--- ', 'file'], ['@@', 'hunk'], ['+', 'added'], ['-', 'removed']];
const MOST_LINES = 2000;

/** @param {string} text @returns {HTMLElement} */
export function diffView(text) {
  const lines = text.replace(/\n$/, '').split('\n');
  const shown = lines.slice(0, MOST_LINES).map((line) => {
    const kind = KINDS.find(([sign]) => line.startsWith(sign))?.[1] ?? 'same';
    return el('span', { class: `line ${kind}`, text: `${exact(line)}\n` });
  });
  const rest = lines.length - shown.length;
  if (rest > 0) shown.push(el('span', { class: 'line hunk', text: `… ${rest.toLocaleString('en')} more lines\n` }));
  return el('pre', { class: 'diff', tabindex: '0', 'aria-label': 'changes' }, ...shown);
}

/** Whether text is a diff by its looks. */
export function looksLikeDiff(text) {
  return /^(--- .*\n\+\+\+ |@@ -\d+)/m.test(text);
}
