/** One turn: a line that says when, how long, how it ended and what it cost; below it what was said and done. */

import { now, since, stopTick, tick } from './clock.js';
import { arrange, el, setAttribute, setText } from './dom.js';
import { AssistantView, NoticeView, ThinkingView, UserView } from './message_views.js';
import { ToolCard } from './tool_card.js';
import * as words from './words.js';

const VIEWS = { user: UserView, assistant: AssistantView, thinking: ThinkingView, call: ToolCard, notice: NoticeView };
const TONES = { running: 'active', failed: 'failed', interrupted: 'failed', cancelled: 'quiet', completed: 'good' };
const LEVELS = { warning: 'waiting', error: 'failed' };
const REASONS = {
  max_tokens: 'The reply was cut: the model may not write more at once. Say "go on" to let it continue.',
  refusal: 'The model refused to answer.',
  max_steps: 'The turn reached its limit of steps.',
};

export class TurnView {
  /** @type {Map<string, {kind: string, view: any}>} */
  #entries = new Map();

  constructor(turnId) {
    this.id = turnId;
    this.time = el('span', { class: 'clock' });
    this.status = el('span', { class: 'word' });
    this.cost = el('span', { class: 'cost' });
    this.usage = el('span', { class: 'usage' });
    this.content = el('div', { class: 'content' });
    this.node = el(
      'article',
      { class: 'turn', tabindex: '-1', data: { turn: turnId } },
      el('header', {}, this.time, this.status, this.usage, this.cost),
      this.content,
    );
  }

  /**
   * @param {import('./conversation_model.js').ConversationModel} model
   * @param {string|null} waitsSince since when an approval of this turn waits
   */
  update(model, waitsSince) {
    const turn = model.turns.get(this.id);
    if (turn === undefined) return;
    this.#head(turn, waitsSince);
    const entries = entriesOf(model, turn);
    const keys = new Set(entries.map((entry) => entry.key));
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#entries.delete(key);
    arrange(this.content, entries.map((entry) => this.#entry(entry)));
  }

  #entry({ key, kind, args }) {
    let held = this.#entries.get(key);
    if (held === undefined || held.kind !== kind) {
      held = { kind, view: new VIEWS[kind]() };
      this.#entries.set(key, held);
    }
    held.view.update(...args);
    return held.view.node;
  }

  #head(turn, waitsSince) {
    const isRunning = turn.status === 'running';
    this.node.className = `turn tone-${TONES[turn.status] ?? 'quiet'}`;
    this.node.dataset.status = turn.status;
    setAttribute(this.node, 'aria-busy', isRunning ? 'true' : null);
    setAttribute(this.node, 'aria-label', `turn of ${words.moment(turn.started_at)}, ${turn.status}`);
    if (isRunning) tick(this.time, () => runningWords(turn, waitsSince ?? turn.waiting_since ?? null));
    else {
      stopTick(this.time);
      setText(this.time, endedWords(turn));
    }
    setText(this.status, isRunning || turn.status === 'completed' ? '' : statusWord(turn.status));
    setText(this.usage, isRunning ? '' : usageWords(turn.usage));
    setText(this.cost, words.cost(turn));
    setAttribute(this.cost, 'title', words.exactCost(turn));
  }
}

function statusWord(status) {
  const state = words.sessionState(status);
  return `${state.glyph} ${state.word}`;
}

function runningWords(turn, waitsSince) {
  const waited = turn.waiting_ms ?? 0;
  const waiting = waitsSince ? since(waitsSince) : 0;
  const running = now() - Date.parse(turn.started_at) - waited - waiting;
  const apart = waitsSince ? ` · waiting for you ${words.duration(waiting)}` : waitedWords(waited);
  return `${words.moment(turn.started_at)} · running for ${words.duration(running)}${apart}`;
}

function endedWords(turn) {
  const took = turn.duration_ms ?? Date.parse(turn.completed_at) - Date.parse(turn.started_at) - (turn.waiting_ms ?? 0);
  return `${words.moment(turn.started_at)} · ${words.duration(took)}${waitedWords(turn.waiting_ms ?? 0)}`;
}

const waitedWords = (ms) => (ms >= 1000 ? ` · waited ${words.duration(ms)} for you` : '');

/** Tokens in and out; what nobody reported is a question mark, and with no report at all nothing is said. */
function usageWords(usage) {
  if (!usage) return '';
  const known = ['input_tokens', 'cache_read_tokens', 'cache_write_5m_tokens', 'cache_write_1h_tokens']
    .map((name) => usage[name])
    .filter((count) => count !== null && count !== undefined);
  const prompt = usage.prompt_tokens ?? (known.length ? known.reduce((sum, count) => sum + count, 0) : null);
  if (prompt === null && (usage.output_tokens ?? null) === null) return '';
  return `${words.tokens(prompt)} in · ${words.tokens(usage.output_tokens)}${usage.is_partial ? '+' : ''} out`;
}

/** What stands in a turn, in order: `{key, kind, args}` for a view each. */
function entriesOf(model, turn) {
  const found = [];
  const messages = model.messagesOf(turn.id);
  const results = new Map(messages.filter((one) => one.role === 'tool_result').map((one) => [one.call_id, one]));
  const seen = new Set();
  for (const message of messages) {
    if (message.role === 'user') found.push({ key: message.id, kind: 'user', args: [message] });
    else if (message.role === 'assistant') addReply(found, model, message, { results, seen, turn });
  }
  for (const [id, reply] of model.replies) if (reply.turn_id === turn.id) addLive(found, id, reply);
  for (const call of model.callsOf(turn.id)) if (!seen.has(call.call_id)) addCall(found, model, call);
  for (const notice of noticesOf(model, turn)) found.push({ key: `notice ${notice.key ?? notice.text}`, kind: 'notice', args: [notice] });
  return found;
}

function addReply(found, model, message, { results, seen, turn }) {
  const thinking = message.thinking ?? model.thinking.get(message.id);
  if (thinking) found.push({ key: `thinking ${message.id}`, kind: 'thinking', args: [thinking, false] });
  if (message.text || message.html) found.push({ key: message.id, kind: 'assistant', args: [message, false] });
  for (const { id, name, args } of message.tool_calls ?? []) {
    seen.add(id);
    const result = results.get(id);
    addCall(found, model, model.calls.get(id) ?? guessed(model, { id, name, args }, result, turn), result?.content);
  }
}

function addLive(found, id, reply) {
  const isThinking = !reply.text;
  if (reply.thinking) found.push({ key: `thinking ${id}`, kind: 'thinking', args: [reply.thinking, isThinking] });
  if (reply.text) found.push({ key: id, kind: 'assistant', args: [reply, true] });
}

/** `content`: of the message with its result, which counts where the call came without it. */
function addCall(found, model, call, content = null) {
  found.push({ key: `call ${call.call_id}`, kind: 'call', args: [call, model.output.get(call.call_id), content] });
}

/** Of a call nothing but its messages is known. It is not called ok when its result is an error. */
function guessed(model, { id, name, args }, result, turn) {
  const open = turn.status === 'running' ? 'proposed' : 'unknown';
  const status = result ? (result.is_error ? 'failed' : 'ok') : open;
  const known = { call_id: id, name, args, status, result: result?.content };
  // The same object for the same knowledge: a card is drawn again only when something changed.
  const held = model.guesses.get(id);
  if (held && held.status === status && held.result === known.result) return held;
  model.guesses.set(id, known);
  return known;
}

function noticesOf(model, turn) {
  const found = (model.notices.get(turn.id) ?? []).map(({ level, text }) => ({ text, tone: LEVELS[level] ?? 'quiet' }));
  const retry = model.retries.get(turn.id);
  if (retry && turn.status === 'running') {
    found.push({ key: 'retry', words: () => `↻ ${words.retryWords(retry, Date.parse(retry.at) - now())}`, tone: 'waiting' });
  }
  if (turn.error) found.push({ text: `✗ ${turn.error}`, tone: 'failed' });
  else if (REASONS[turn.stop_reason]) found.push({ text: REASONS[turn.stop_reason], tone: 'waiting' });
  if (turn.status === 'completed' && turn.had_output === false) found.push({ text: 'The turn brought no output.', tone: 'quiet' });
  return found;
}
