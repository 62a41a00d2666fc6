/**
 * Text that still streams, drawn as Markdown: blocks that are complete stay as they are, only the last one is drawn
 * again. Elements are made from text alone, links are not followed; the server's own rendering takes its place at the
 * end of the reply.
 */

import { el } from './dom.js';

// Bounded, so that no text makes it slow.
const INLINE =
  /(`{1,3})([^`]{1,400})\1|\*\*([^*]{1,400})\*\*|__([^_]{1,400})__|\*([^*\s][^*]{0,400})\*|\[([^[\]]{1,300})\]\([^()\s]{1,400}\)/g;
const LIST = /^(\s*)([-*+]|\d+[.)])\s+/;

export class LiveMarkdown {
  node = el('div', { class: 'markdown live' });
  #done = 0;
  /** @type {Node[]} what is drawn of the open end */
  #open = [];
  #text = '';

  /** @param {string} text the whole text so far */
  update(text) {
    if (text === this.#text) return;
    if (!text.startsWith(this.#text)) this.#restart();
    this.#text = text;
    for (const node of this.#open) node.remove();
    this.#open = [];
    for (let end = blockEnd(text, this.#done); end !== -1; end = blockEnd(text, this.#done)) {
      this.node.append(...drawn(text.slice(this.#done, end)));
      this.#done = end;
    }
    this.#open = drawn(text.slice(this.#done));
    this.node.append(...this.#open);
  }

  #restart() {
    this.#done = 0;
    this.#open = [];
    this.node.replaceChildren();
  }
}

/** Where the block that begins at `start` is over for good, or -1: after its blank line, or its closing fence. */
function blockEnd(text, start) {
  const fence = /^\s*(```+|~~~+)/.exec(text.slice(start, start + 200));
  if (!fence) {
    const blank = text.indexOf('\n\n', start);
    return blank === -1 ? -1 : blank + 2;
  }
  const close = text.indexOf(`\n${fence[1]}`, start + fence[0].length);
  if (close === -1) return -1;
  const line = text.indexOf('\n', close + 1);
  return line === -1 ? -1 : line + 1;
}

/** @returns {Node[]} */
function drawn(block) {
  const text = block.replace(/^\n+|\s+$/g, '');
  if (!text) return [];
  const fence = /^\s*(```+|~~~+)[^\n]*\n?/.exec(text);
  if (fence) {
    const body = text.slice(fence[0].length).replace(new RegExp(`\\n?${fence[1]}\\s*$`), '');
    return [el('pre', {}, el('code', { text: body }))];
  }
  const lines = text.split('\n');
  const fenceAt = lines.findIndex((line) => /^\s*(```|~~~)/.test(line));
  if (fenceAt > 0) return [...drawn(lines.slice(0, fenceAt).join('\n')), ...drawn(lines.slice(fenceAt).join('\n'))];
  return byLine(lines);
}

function byLine(lines) {
  const found = [];
  let list = null;
  let words = [];
  const flush = () => {
    if (words.length) found.push(el('p', {}, ...inline(words.join('\n'))));
    words = [];
  };
  for (const line of lines) {
    const heading = /^(#{1,6})\s+(.*)/.exec(line);
    const item = LIST.exec(line);
    if (heading) {
      flush();
      list = null;
      found.push(el(`h${heading[1].length}`, {}, ...inline(heading[2])));
    } else if (item) {
      flush();
      const tag = /\d/.test(item[2]) ? 'OL' : 'UL';
      if (list?.tagName !== tag) found.push((list = el(tag.toLowerCase())));
      list.append(el('li', {}, ...inline(line.slice(item[0].length))));
    } else if (/^\s*>\s?/.test(line)) {
      flush();
      list = null;
      found.push(el('blockquote', {}, ...inline(line.replace(/^\s*>\s?/, ''))));
    } else if (list && /^\s+\S/.test(line)) list.lastElementChild?.append('\n', ...inline(line.trim()));
    else {
      list = null;
      words.push(line);
    }
  }
  flush();
  return found;
}

/** @returns {(Node|string)[]} */
function inline(text) {
  const found = [];
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    found.push(text.slice(at, match.index));
    const [whole, , code, bold, strong, emphasis, label] = match;
    if (code) found.push(el('code', { text: code }));
    else if (bold ?? strong) found.push(el('strong', { text: bold ?? strong }));
    else if (emphasis) found.push(el('em', { text: emphasis }));
    else found.push(el('span', { class: 'link', text: label }));
    at = match.index + whole.length;
  }
  found.push(text.slice(at));
  return found;
}
