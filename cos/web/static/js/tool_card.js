/** A tool call: one row with its state as glyph and word; unfolded, what it does and what came back. */

import { since, stopTick, tick } from './clock.js';
import { diffView, looksLikeDiff } from './diff.js';
import { arrange, button, el, setAttribute, setText } from './dom.js';
import * as words from './words.js';

const OPENED = new Set(['denied', 'error', 'failed', 'timed_out', 'unknown']);
const MOST_TEXT = 60000;

export class ToolCard {
  #call = null;
  #output = '';
  #content = null;
  /** What the user chose; null until then. @type {boolean|null} */
  #open = null;
  #parts = { key: '', nodes: [] };

  constructor() {
    this.glyph = el('span', { class: 'glyph', 'aria-hidden': 'true' });
    this.word = el('span', { class: 'word' });
    this.name = el('span', { class: 'name' });
    this.title = el('span', { class: 'what' });
    this.took = el('span', { class: 'took' });
    this.note = el('p', { class: 'note' });
    this.answer = button('Answer it', () => document.dispatchEvent(new CustomEvent('cos:approvals')), { class: 'link' });
    this.body = el('div', { class: 'body' });
    this.live = el('pre', { class: 'output', tabindex: '0', 'aria-label': 'output' });
    this.head = el(
      'button',
      { type: 'button', class: 'head', on: { click: () => this.#toggle() } },
      el('span', { class: 'status' }, this.glyph, this.word),
      this.name,
      this.title,
      this.took,
    );
    this.node = el('section', { class: 'call' }, this.head, this.note, this.answer, this.body);
  }

  /**
   * @param {any} call a ToolCall, or what is known of one
   * @param {{text: string, cut: boolean}|undefined} output
   * @param {string|null} content of the message with its result
   */
  update(call, output, content) {
    const text = output ? (output.cut ? '… earlier output is not shown\n' : '') + output.text : '';
    if (call === this.#call && text === this.#output && content === this.#content) return;
    this.#content = content;
    this.#call = call;
    this.#output = text;
    const state = words.callState(call.status);
    setText(this.glyph, state.glyph);
    setText(this.word, state.word);
    setText(this.name, words.oneLine(call.name));
    const title = words.oneLine(call.title ?? titleOf(call.args ?? {}));
    setText(this.title, title === words.oneLine(call.name) ? '' : title);
    this.node.className = `call tone-${state.tone}`;
    this.node.dataset.status = state.word;
    this.#time(call);
    const note = noteOf(call);
    setText(this.note, note);
    this.note.hidden = !note;
    this.answer.hidden = call.status !== 'waiting';
    this.#fold();
  }

  #time(call) {
    if (call.duration_ms !== null && call.duration_ms !== undefined) {
      stopTick(this.took);
      setText(this.took, words.shortDuration(call.duration_ms));
    } else if (call.status === 'running' && call.started_at) {
      tick(this.took, () => words.duration(since(call.started_at)));
    } else {
      stopTick(this.took);
      setText(this.took, '');
    }
  }

  get #isOpen() {
    return this.#open ?? (OPENED.has(this.#call.status) || (this.#call.status === 'running' && this.#output !== ''));
  }

  #toggle() {
    this.#open = !this.#isOpen;
    this.#fold();
  }

  #fold() {
    const isOpen = this.#isOpen;
    setAttribute(this.head, 'aria-expanded', String(isOpen));
    this.body.hidden = !isOpen;
    if (isOpen) this.#fill();
  }

  #fill() {
    const call = { ...this.#call, result: this.#call.result ?? this.#content };
    const key = JSON.stringify([call.args, call.diff, call.result, call.status]);
    if (key !== this.#parts.key) this.#parts = { key, nodes: partsOf(call) };
    const { nodes } = this.#parts;
    const isTold = this.#output !== '' && call.status === 'ok';
    const shown = nodes.filter((node) => !(isTold && node.classList.contains('result')));
    if (this.#output) {
      setText(this.live, words.exact(this.#output));
      const place = shown.findIndex((node) => node.classList.contains('result'));
      shown.splice(place === -1 ? shown.length : place, 0, this.live);
    }
    const follow = this.live.scrollTop + this.live.clientHeight >= this.live.scrollHeight - 8;
    arrange(this.body, shown);
    if (follow) this.live.scrollTop = this.live.scrollHeight;
  }
}

/** What stands beside the name where the tool itself has not said it. */
function titleOf({ command, path, query, url }) {
  const found = typeof command === 'string' ? `$ ${command}` : (path ?? query ?? url ?? '');
  return typeof found === 'string' ? found : '';
}

/** Who denied it and why, or another word of what became of it. */
function noteOf(call) {
  const answer = call.approval ?? {};
  const { reason } = answer;
  if (call.status === 'denied') return `denied${words.by(answer.answered_by)}${reason ? `: ${words.oneLine(reason)}` : ''}`;
  if (call.status === 'expired') return 'nobody answered in time; it did not run';
  if (call.status === 'unknown') return 'whether it had an effect is unknown';
  return call.status === 'running' && call.progress ? words.oneLine(call.progress) : '';
}

/** @returns {HTMLElement[]} */
function partsOf(call) {
  const args = call.args ?? {};
  const nodes = [];
  const diff = call.diff ?? '';
  if (typeof args.command === 'string') nodes.push(pre('args', `$ ${args.command}`, 'command'));
  else if (!diff && Object.keys(args).length) nodes.push(argsView(args));
  if (diff) nodes.push(diffView(diff));
  if (call.result) nodes.push(...resultView(String(call.result), Boolean(diff)));
  return nodes;
}

function argsView(args) {
  const rows = Object.entries(args).flatMap(([name, value]) => [
    el('dt', { text: words.exact(name) }),
    el('dd', {}, pre('value', typeof value === 'string' ? value : JSON.stringify(value, null, 2), words.exact(name))),
  ]);
  return el('dl', { class: 'args' }, ...rows);
}

/** Results of tools that are JSON are shown by their parts: output as text, what remains by name. */
function resultView(text, hasDiff) {
  const data = asObject(text);
  if (data === null) return [looksLikeDiff(text) ? diffView(text) : pre('result', text, 'result')];
  const { output = data.content, content, diff, ...rest } = data;
  if (output !== content && content !== undefined) rest.content = content;
  const nodes = [];
  if (typeof diff === 'string' && !hasDiff) nodes.push(diffView(diff));
  if (typeof output === 'string' && output) nodes.push(pre('result', output, 'result'));
  const left = Object.entries(rest).filter(([name, value]) => value !== null && value !== '' && !(name === 'exit_code' && value === 0));
  if (left.length) {
    const lines = left.map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
    nodes.push(pre('result', lines.join('\n'), 'result'));
  }
  return nodes;
}

function asObject(text) {
  if (!text.startsWith('{')) return null;
  try {
    const data = JSON.parse(text);
    return typeof data === 'object' && !Array.isArray(data) ? data : null;
  } catch {
    return null;
  }
}

function pre(kind, text, label) {
  const cut = text.length > MOST_TEXT ? `${text.slice(0, MOST_TEXT)}\n… ${text.length - MOST_TEXT} more characters` : text;
  return el('pre', { class: kind, text: words.exact(cut), tabindex: '0', 'aria-label': label });
}
