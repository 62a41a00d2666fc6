/**
 * What is known of one session: its turns, messages, calls, what streams, and what waits. Frames go in, views read.
 * A turn that has ended never runs again, whatever comes later.
 */

import { triedWords } from './words.js';

/** @typedef {{turn_id: string, text: string, thinking: string}} Reply */

const MOST_OUTPUT = 60000;
/** What a live turn does not say of itself. */
const KEPT = ['ordinal', 'cost_usd', 'unpriced', 'lost', 'made_up_usd'];

export class ConversationModel {
  /** @type {any} */
  session = null;
  /** @type {Map<string, any>} */
  turns = new Map();
  /** @type {Map<string, any>} by id */
  messages = new Map();
  /** By call id. @type {Map<string, any>} */
  calls = new Map();
  /** Live output by call id. @type {Map<string, {text: string, cut: boolean}>} */
  output = new Map();
  /** What streams now, by message id. @type {Map<string, Reply>} */
  replies = new Map();
  /** Thinking that was seen live; it is not stored apart. @type {Map<string, string>} */
  thinking = new Map();
  /** What is told of calls of which nothing but messages is known, by call id. @type {Map<string, any>} */
  guesses = new Map();
  /** @type {Map<string, any>} by turn id */
  retries = new Map();
  /** Sentences about a turn, by its id. @type {Map<string, {level: string, text: string}[]>} */
  notices = new Map();
  queue = { waiting: [], paused: false };
  hasMore = false;
  isLoaded = false;

  /** @param {string} sessionId */
  constructor(sessionId) {
    this.sessionId = sessionId;
  }

  /** Turns in their order. */
  get ordered() {
    return [...this.turns.values()].sort(byPlace);
  }

  /** The turn that runs, or null. */
  get active() {
    for (const turn of this.turns.values()) if (turn.status === 'running') return turn;
    return null;
  }

  /** Messages of a turn in their order. */
  messagesOf(turnId) {
    return [...this.messages.values()].filter((message) => message.turn_id === turnId).sort(byPlace);
  }

  callsOf(turnId) {
    return [...this.calls.values()].filter((call) => call.turn_id === turnId);
  }

  /**
   * Take a frame in.
   * @param {{action: string, payload: any}} frame
   * @returns {Set<string>|null} ids of the turns that changed; null when everything may have
   */
  apply({ action, payload }) {
    const take = TAKERS[action];
    return take ? take(this, payload) : new Set();
  }

  /** Older turns and messages, read over HTTP. */
  addOlder({ turns, messages, tools = [], hasMore }) {
    for (const turn of turns) putTurn(this, turn);
    for (const message of messages) if (!this.messages.has(message.id)) this.messages.set(message.id, message);
    for (const call of tools) if (!this.calls.has(call.call_id)) this.calls.set(call.call_id, call);
    this.hasMore = hasMore;
  }

  /** Keep the newest turns alone; older ones are read again on demand. @param {number} most */
  trim(most) {
    const gone = this.ordered.slice(0, -most);
    for (const turn of gone) this.#forget(turn.id);
    if (gone.length) this.hasMore = true;
    return gone.map((turn) => turn.id);
  }

  #forget(turnId) {
    this.turns.delete(turnId);
    for (const [id, message] of this.messages) if (message.turn_id === turnId) this.messages.delete(id);
    for (const [id, call] of this.calls) {
      if (call.turn_id !== turnId) continue;
      this.calls.delete(id);
      this.output.delete(id);
    }
    for (const [id, reply] of this.replies) if (reply.turn_id === turnId) this.replies.delete(id);
    this.retries.delete(turnId);
    this.notices.delete(turnId);
  }

  drop(turnIds) {
    for (const id of turnIds) this.#forget(id);
  }
}

/** By ordinal; what came live may have none yet, and stands behind those that have one, as it came. */
function byPlace({ ordinal: one }, { ordinal: other }) {
  return (one ?? Infinity) === (other ?? Infinity) ? 0 : (one ?? Infinity) - (other ?? Infinity);
}

/** What a live turn does not say (its place, its cost) stays as it was. */
function putTurn(model, turn) {
  const before = model.turns.get(turn.id);
  if (before && before.status !== 'running' && turn.status === 'running') return;
  const said = Object.entries(turn).filter(([name, value]) => value !== null || !KEPT.includes(name));
  model.turns.set(turn.id, { ordinal: null, cost_usd: null, unpriced: null, lost: null, made_up_usd: null, ...before, ...Object.fromEntries(said) });
}

/** A piece of a reply; of one that is there as a whole already it means nothing. */
function grow(model, payload, part) {
  if (!model.messages.has(payload.message_id)) reply(model, payload)[part] += payload.text;
  return new Set([payload.turn_id]);
}

function reply(model, { message_id: id, turn_id: turnId }) {
  const found = model.replies.get(id) ?? { turn_id: turnId, text: '', thinking: '' };
  model.replies.set(id, found);
  retried(model, turnId);
  return found;
}

/** The wait is over: what stays is why there was one. */
function retried(model, turnId) {
  const retry = model.retries.get(turnId);
  if (retry) say(model, turnId, { level: 'warning', text: triedWords(retry) });
  model.retries.delete(turnId);
}

function say(model, turnId, notice) {
  model.notices.set(turnId, [...(model.notices.get(turnId) ?? []), notice]);
}

function turnChanged(model, turn) {
  const isNew = !model.turns.has(turn.id);
  putTurn(model, turn);
  if (turn.status !== 'running') {
    retried(model, turn.id);
    for (const [id, open] of model.replies) if (open.turn_id === turn.id && !open.text) model.replies.delete(id);
  }
  return isNew ? null : new Set([turn.id]);
}

/** The newest turns anew; older ones that were read stay when they still join on. */
function snapshot(model, payload) {
  const oldest = Math.min(...payload.turns.map((turn) => turn.ordinal));
  const newestHere = Math.max(...[...model.turns.values()].map((turn) => turn.ordinal ?? Infinity));
  const joins = payload.turns.length > 0 && newestHere >= oldest - 1;
  const older = model.ordered.filter((turn) => joins && turn.ordinal !== null && turn.ordinal < oldest).map((turn) => turn.id);
  const kept = new Set(older);
  model.drop(model.ordered.map((turn) => turn.id).filter((id) => !kept.has(id)));
  model.session = payload.session;
  for (const turn of payload.turns) model.turns.set(turn.id, turn);
  for (const message of payload.messages) model.messages.set(message.id, message);
  for (const call of payload.tools ?? []) putCall(model, call);
  model.replies.clear();
  model.retries.clear();
  if (payload.retry) model.retries.set(payload.retry.turn_id, payload.retry);
  if (payload.open_reply) {
    const { message_id: id, text, thinking } = payload.open_reply;
    model.replies.set(id, { turn_id: payload.active_turn_id, text: text ?? '', thinking: thinking ?? '' });
  }
  model.queue = payload.queue ?? { waiting: [], paused: false };
  if (older.length === 0) model.hasMore = payload.has_more;
  model.isLoaded = true;
  return null;
}

function putCall(model, call) {
  model.calls.set(call.call_id, { ...model.calls.get(call.call_id), ...call });
  if (typeof call.output === 'string' && !model.output.has(call.call_id)) addOutput(model, call.call_id, call.output);
}

function addOutput(model, callId, text) {
  const held = model.output.get(callId) ?? { text: '', cut: false };
  held.text += text;
  if (held.text.length > MOST_OUTPUT * 2) {
    held.text = held.text.slice(-MOST_OUTPUT);
    held.cut = true;
  }
  model.output.set(callId, held);
}

/** @type {Record<string, (model: ConversationModel, payload: any) => Set<string>|null>} */
const TAKERS = {
  'session.snapshot': snapshot,
  'session.turn.started': turnChanged,
  'session.turn.updated': turnChanged,
  'session.turn.completed': turnChanged,
  'session.message.added': (model, message) => {
    model.messages.set(message.id, message);
    const open = model.replies.get(message.id);
    if (open?.thinking) model.thinking.set(message.id, open.thinking);
    model.replies.delete(message.id);
    retried(model, message.turn_id);
    return model.turns.has(message.turn_id) ? new Set([message.turn_id]) : null;
  },
  'session.message.delta': (model, payload) => grow(model, payload, 'text'),
  'session.thinking.delta': (model, payload) => grow(model, payload, 'thinking'),
  'session.tool.updated': (model, call) => {
    retried(model, call.turn_id);
    putCall(model, call);
    return new Set([call.turn_id]);
  },
  'session.tool.output': (model, { turn_id: turnId, call_id: callId, text, omitted }) => {
    if (omitted) addOutput(model, callId, `\n… ${omitted.toLocaleString('en')} characters were left out …\n`);
    addOutput(model, callId, text);
    return new Set([turnId]);
  },
  'session.queue.changed': (model, queue) => {
    model.queue = { waiting: queue.waiting, paused: queue.paused };
    return new Set();
  },
  'session.retry.scheduled': (model, retry) => {
    retried(model, retry.turn_id);
    model.retries.set(retry.turn_id, retry);
    return new Set([retry.turn_id]);
  },
  'session.notice': (model, { turn_id: turnId, level, text }) => {
    say(model, turnId, { level, text });
    return new Set([turnId]);
  },
  'session.cost.changed': (model, { turns, ...spent }) => {
    if (model.session) Object.assign(model.session, spent);
    for (const [id, own] of Object.entries(turns)) {
      const turn = model.turns.get(id);
      if (turn) model.turns.set(id, { ...turn, ...own });
    }
    return new Set(Object.keys(turns));
  },
  'session.rewound': (model, { turn_ids: ids }) => {
    model.drop(ids);
    return null;
  },
};
