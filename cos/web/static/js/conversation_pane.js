/** The live conversation of one session: its turns, following the end while you are there, older ones on demand. */

import { read } from './api.js';
import { arrange, byId, el, isWriting, setText } from './dom.js';
import { perFrame } from './emitter.js';
import { TurnView } from './turn_view.js';
import * as words from './words.js';

const MOUNTED = 30;
const AT_END = 40;

export class ConversationPane {
  /** @type {import('./conversation_model.js').ConversationModel|null} */
  model = null;
  /** @type {Map<string, TurnView>} */
  #views = new Map();
  #dirty = new Set();
  #all = true;
  #isAtEnd = true;
  #isReadingOlder = false;
  #scroller = byId('conversation-scroll');
  #turns = byId('turns');
  #older = byId('older');
  #newest = byId('newest');

  /** @param {{waitsSince: (turnId: string) => string|null, seen: () => void}} parts */
  constructor({ waitsSince, seen }) {
    this.waitsSince = waitsSince;
    this.seen = seen;
    this.draw = perFrame(() => this.#draw());
    this.#scroller.addEventListener('scroll', () => this.#scrolled(), { passive: true });
    this.#scroller.addEventListener('keydown', (event) => this.#key(event));
    this.#newest.addEventListener('click', () => this.toEnd());
    this.#older.addEventListener('click', () => this.#readOlder());
    new ResizeObserver(() => this.#keepEnd()).observe(this.#scroller);
  }

  /** Show another session, or none. */
  show(model) {
    this.model = model;
    this.#views.clear();
    this.#turns.replaceChildren();
    this.#isAtEnd = true;
    this.changed(null);
  }

  /** @param {Set<string>|null} turnIds that changed; null: anything may have */
  changed(turnIds) {
    if (turnIds === null) this.#all = true;
    else for (const id of turnIds) this.#dirty.add(id);
    this.draw();
  }

  focus() {
    this.#scroller.focus();
  }

  toEnd() {
    this.#isAtEnd = true;
    this.#keepEnd();
    this.#scrolled();
    this.draw();
  }

  get isAtEnd() {
    return this.#isAtEnd;
  }

  #draw() {
    const { model } = this;
    byId('conversation-empty').hidden = model !== null;
    byId('conversation-loading').hidden = model === null || model.isLoaded;
    if (model === null) return;
    if (this.#isAtEnd && model.turns.size > MOUNTED && model.trim(MOUNTED).length) this.#all = true;
    if (this.#all) this.#drawAll(model);
    else for (const id of this.#dirty) this.#views.get(id)?.update(model, this.waitsSince(id));
    this.#all = false;
    this.#dirty.clear();
    this.#older.hidden = !model.hasMore;
    if (this.#isAtEnd) {
      this.#keepEnd();
      this.seen();
    } else this.#newest.hidden = false;
  }

  #drawAll(model) {
    const ordered = model.ordered;
    const views = ordered.map((turn) => {
      const view = this.#views.get(turn.id) ?? new TurnView(turn.id);
      this.#views.set(turn.id, view);
      view.update(model, this.waitsSince(turn.id));
      return view.node;
    });
    for (const id of this.#views.keys()) if (!model.turns.has(id)) this.#views.delete(id);
    arrange(this.#turns, views);
    const isEmpty = model.isLoaded && ordered.length === 0;
    byId('turns-empty').hidden = !isEmpty;
  }

  #keepEnd() {
    if (this.#isAtEnd) this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  #scrolled() {
    const { scrollTop, clientHeight, scrollHeight } = this.#scroller;
    const wasAtEnd = this.#isAtEnd;
    this.#isAtEnd = scrollTop + clientHeight >= scrollHeight - AT_END;
    if (this.#isAtEnd) {
      this.#newest.hidden = true;
      if (!wasAtEnd) this.draw();
    } else if (scrollTop < 200) this.#readOlder();
  }

  /** Also while the view is at its end, because then nothing scrolls. */
  async #readOlder() {
    const { model } = this;
    const first = model?.ordered[0];
    if (!model || !first || first.ordinal === null || !model.hasMore || this.#isReadingOlder) return;
    this.#isReadingOlder = true;
    setText(this.#older, 'loading older turns …');
    try {
      const older = await olderTurns(model, first);
      if (model !== this.model) return;
      const below = this.#scroller.scrollHeight - this.#scroller.scrollTop;
      model.addOlder(older);
      this.#isAtEnd = false;
      this.#all = true;
      this.#draw();
      this.#scroller.scrollTop = this.#scroller.scrollHeight - below;
      setText(this.#older, 'load older turns');
    } catch (error) {
      setText(this.#older, `older turns could not be loaded: ${error.message}. Try again`);
    } finally {
      this.#isReadingOlder = false;
    }
  }

  #key(event) {
    if (event.ctrlKey || event.altKey || event.metaKey || isWriting(event.target)) return;
    const step = { j: 1, k: -1 }[event.key];
    if (step !== undefined) this.#step(step);
    else if (event.key === 'End') this.toEnd();
    else return;
    event.preventDefault();
  }

  /** The focus goes to the next or the previous turn. */
  #step(step) {
    const turns = [...this.#turns.children];
    const at = turns.indexOf(/** @type {Element} */ (document.activeElement?.closest('.turn')));
    const wanted = at === -1 ? (step < 0 ? turns.length - 1 : 0) : at + step;
    const turn = /** @type {HTMLElement|undefined} */ (turns[Math.min(turns.length - 1, Math.max(0, wanted))]);
    turn?.focus({ preventScroll: true });
    turn?.scrollIntoView({ block: 'start' });
  }
}

/** The turns before `first`, with their messages. */
async function olderTurns(model, first) {
  const path = `sessions/${model.sessionId}`;
  const after = Math.max(first.ordinal - 1 - MOUNTED, 0);
  const { turns } = await read(`${path}/turns`, { after, limit: MOUNTED });
  const wanted = turns.filter((turn) => turn.ordinal < first.ordinal);
  const ids = new Set(wanted.map((turn) => turn.id));
  const known = model.messagesOf(first.id).map((message) => message.ordinal).filter((ordinal) => ordinal !== null);
  let before = Math.min(...known);
  const messages = [];
  const tools = [];
  for (let isMore = wanted.length > 0 && Number.isFinite(before); isMore; ) {
    const page = await read(`${path}/messages`, { before, limit: 100 });
    messages.push(...page.messages.filter((message) => ids.has(message.turn_id)));
    tools.push(...(page.tools ?? []));
    isMore = page.has_more && page.messages.length > 0 && ids.has(page.messages[0].turn_id);
    before = page.messages[0]?.ordinal;
  }
  return { turns: wanted, messages, tools, hasMore: wanted.length > 0 && Math.min(...wanted.map((turn) => turn.ordinal)) > 1 };
}

/** The line above the conversation: what the session is and how it is. */
export class ConversationHead {
  constructor() {
    this.title = byId('conversation-title');
    this.about = byId('conversation-about');
    this.meter = byId('conversation-meter');
  }

  update(session) {
    setText(this.title, session ? words.oneLine(session.title) || 'untitled' : 'New session');
    if (!session) {
      this.about.replaceChildren('Choose a profile, write below, and it begins.');
      this.meter.hidden = true;
      return;
    }
    const cost = words.cost(session);
    this.about.replaceChildren(
      el('span', { text: words.oneLine(session.profile_id) }),
      ...(session.tags ?? []).map((tag) => el('span', { class: 'tag', text: `#${words.oneLine(tag)}` })),
      ...(cost ? [el('span', { class: 'cost', text: cost, title: words.exactCost(session) })] : []),
    );
    this.#context(session.context);
  }

  #context(context) {
    const known = context && context.used !== null && context.used !== undefined;
    this.meter.hidden = !known;
    if (!known) return;
    const share = context.window ? ` · ${Math.round((context.used / context.window) * 100)} %` : '';
    setText(this.meter, `context ${words.tokens(context.used)}${context.window ? ` of ${words.tokens(context.window)}` : ''}${share}`);
  }
}
