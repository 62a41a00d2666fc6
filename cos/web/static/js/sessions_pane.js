/** The sessions as a monitor: who waits for you and for how long, who works, what is new. */

import { since, stopTick, tick } from './clock.js';
import { arrange, button, byId, el, setAttribute, setText } from './dom.js';
import { perFrame } from './emitter.js';
import { isRunning, isWaiting } from './sessions_model.js';
import * as words from './words.js';

export class SessionsPane {
  /** @type {Map<string, Row>} */
  #rows = new Map();
  #list = byId('session-list');
  #filter = /** @type {HTMLInputElement} */ (byId('filter'));
  #note = byId('sessions-note');
  #cursor = null;
  #order = [];
  #expanded = new Set();

  /** @param {{model: import('./sessions_model.js').SessionsModel, open: (id: string) => void, chosen: () => string|null}} parts */
  constructor({ model, open, chosen }) {
    this.model = model;
    this.open = open;
    this.chosen = chosen;
    this.draw = perFrame(() => this.#draw());
    model.on('change', this.draw);
    model.on('trouble', (text) => this.#trouble(text));
    this.#list.addEventListener('click', (event) => this.#clicked(event));
    this.#list.addEventListener('keydown', (event) => this.#key(event));
    this.#list.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    let timer = 0;
    this.#filter.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.#filterChanged(), 150);
    });
    this.#filter.addEventListener('keydown', (event) => this.#filterKey(event));
  }

  focus() {
    this.#list.focus();
  }

  focusFilter() {
    this.#filter.focus();
    this.#filter.select();
  }

  #filterChanged() {
    this.model.filter = this.#filter.value.trim();
    this.model.reload();
  }

  #filterKey(event) {
    if (event.key === 'Escape' && this.#filter.value) {
      this.#filter.value = '';
      this.#filterChanged();
      event.stopPropagation();
    } else if (event.key === 'ArrowDown' || event.key === 'Enter') {
      event.preventDefault();
      this.focus();
    }
  }

  #trouble(text) {
    setText(this.#note, text ?? '');
    this.#note.hidden = !text;
  }

  #clicked(event) {
    const id = event.target.closest('[data-session]')?.dataset.session;
    if (!id) return;
    this.#cursor = id;
    if (event.target.closest('.children')) this.#expand(id);
    else this.open(id);
  }

  #expand(id) {
    if (!this.model.rows.get(id)?.children) return;
    if (this.#expanded.has(id)) this.#expanded.delete(id);
    else {
      this.#expanded.add(id);
      this.model.readChildren(id);
    }
    this.draw();
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, Home: -1e9, End: 1e9, PageDown: 8, PageUp: -8 }[event.key];
    if (step !== undefined) this.#move(step);
    else if (event.key === 'Enter' && this.#cursor) this.open(this.#cursor);
    else if ((event.key === 'ArrowRight' || event.key === ' ') && this.#cursor) this.#expand(this.#cursor);
    else if (event.key === 'ArrowLeft' && this.#expanded.has(this.#cursor)) this.#expand(this.#cursor);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  #move(step) {
    const place = Math.max(0, this.#order.indexOf(this.#cursor ?? this.chosen()));
    const wanted = this.#cursor === null && this.chosen() === null ? 0 : place + step;
    this.#cursor = this.#order[Math.min(this.#order.length - 1, Math.max(0, wanted))] ?? null;
    this.#draw();
    this.#rows.get(this.#cursor ?? '')?.node.scrollIntoView({ block: 'nearest' });
  }

  #scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.#list;
    if (scrollTop + clientHeight > scrollHeight - 300) this.model.more();
  }

  #draw() {
    const shown = this.model.shown().filter(({ row, depth }) => depth === 0 || this.#isOpen(row));
    const known = new Set(shown.map(({ row }) => row.id));
    for (const id of this.#rows.keys()) if (!known.has(id)) this.#rows.delete(id);
    this.#order = shown.map(({ row }) => row.id);
    if (this.#cursor && !known.has(this.#cursor)) this.#cursor = null;
    const at = this.#cursor ?? this.chosen();
    const nodes = shown.map(({ row, depth }) => {
      const drawn = this.#rows.get(row.id) ?? new Row(row.id);
      this.#rows.set(row.id, drawn);
      drawn.update(row, { depth, isOpen: row.id === this.chosen(), isAt: row.id === at, expanded: this.#expanded.has(row.id) });
      return drawn.node;
    });
    const top = this.#list.scrollTop;
    arrange(this.#list, nodes);
    this.#list.scrollTop = top;
    setAttribute(this.#list, 'aria-activedescendant', at && known.has(at) ? `session-${at}` : null);
    byId('sessions-empty').hidden = nodes.length > 0 || this.model.isReading;
    setText(byId('sessions-empty'), this.model.filter ? 'No session fits this filter.' : 'No session yet. Write below to begin one.');
  }

  /** Children show when their parent is expanded, and by themselves while they need something or work. */
  #isOpen(row) {
    return this.#expanded.has(row.parent_session_id) || isWaiting(row) || isRunning(row) || row.id === this.chosen();
  }
}

class Row {
  constructor(id) {
    this.glyph = el('span', { class: 'glyph', 'aria-hidden': 'true' });
    this.title = el('span', { class: 'title' });
    this.state = el('span', { class: 'state' });
    this.cost = el('span', { class: 'cost' });
    this.about = el('span', { class: 'about' });
    this.children = button('', () => {}, { class: 'children', tabindex: '-1' });
    this.node = el(
      'li',
      { role: 'treeitem', id: `session-${id}`, data: { session: id } },
      this.glyph,
      el('span', { class: 'first' }, this.title, this.children),
      this.state,
      el('span', { class: 'third' }, this.about, this.cost),
    );
  }

  update(row, { depth, isOpen, isAt, expanded }) {
    const state = words.sessionState(row.archived ? 'archived' : row.state);
    setText(this.glyph, state.glyph);
    setText(this.title, words.oneLine(row.title) || 'untitled');
    setAttribute(this.title, 'title', row.title);
    setText(this.cost, words.cost(row));
    setAttribute(this.cost, 'title', words.exactCost(row));
    setText(this.about, [row.profile_id, ...(row.tags ?? []).map((tag) => `#${tag}`)].map(words.oneLine).join('  '));
    const count = row.children ?? 0;
    this.children.hidden = !count;
    setText(this.children, `${expanded ? '▾' : '▸'} ${count}`);
    setAttribute(this.children, 'aria-label', words.plural(count, 'child session'));
    this.node.className = `session tone-${state.tone}${isAt ? ' at' : ''}`;
    this.node.dataset.state = row.state;
    this.node.dataset.depth = String(Math.min(depth, 4));
    setAttribute(this.node, 'aria-level', depth + 1);
    setAttribute(this.node, 'aria-selected', String(isOpen));
    setAttribute(this.node, 'aria-expanded', count ? String(expanded) : null);
    this.#word(row, state);
  }

  #word(row, state) {
    const queued = row.queued ? `, queued ${row.queued}` : '';
    const word = row.archived ? state.word : words.restingWords(row);
    if ((isWaiting(row) || isRunning(row)) && row.state_since) {
      tick(this.state, () => `${state.word} ${words.span(since(row.state_since))}${queued}`);
      return;
    }
    if (!row.last_activity_at) {
      stopTick(this.state);
      setText(this.state, word);
      return;
    }
    tick(this.state, () => `${word} · ${age(row.last_activity_at)}`);
  }
}

function age(iso) {
  const passed = since(iso);
  return passed < 60000 ? 'now' : words.span(passed);
}
