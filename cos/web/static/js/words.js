/** How times, amounts and states are worded: the words and glyphs of the app. Nothing here touches the page. */

/** @type {Record<string, {glyph: string, word: string, tone: string}>} by `Session.state` */
export const SESSION_STATES = {
  waiting_approval: { glyph: '!', word: 'waiting for approval', tone: 'waiting' },
  waiting_answer: { glyph: '?', word: 'waiting for an answer', tone: 'waiting' },
  thinking: { glyph: '◐', word: 'thinking', tone: 'active' },
  running: { glyph: '●', word: 'running', tone: 'active' },
  tool: { glyph: '◆', word: 'tool', tone: 'active' },
  retrying: { glyph: '↻', word: 'retrying', tone: 'active' },
  queued: { glyph: '»', word: 'queued', tone: 'active' },
  queue_paused: { glyph: '‖', word: 'queue paused', tone: 'active' },
  request_expired: { glyph: '◷', word: 'request expired', tone: 'news' },
  done_unseen: { glyph: '✓', word: 'done unseen', tone: 'news' },
  failed: { glyph: '✗', word: 'failed', tone: 'failed' },
  cancelled: { glyph: '⊘', word: 'cancelled', tone: 'quiet' },
  interrupted: { glyph: '↯', word: 'interrupted', tone: 'failed' },
  archived: { glyph: '▫', word: 'archived', tone: 'quiet' },
  idle: { glyph: '○', word: 'idle', tone: 'quiet' },
};

/** @type {Record<string, {glyph: string, word: string, tone: string}>} by `ToolCall.status` */
export const CALL_STATES = {
  proposed: { glyph: '○', word: 'proposed', tone: 'quiet' },
  waiting: { glyph: '◆', word: 'waiting', tone: 'waiting' },
  denied: { glyph: '⊘', word: 'denied', tone: 'failed' },
  expired: { glyph: '⌛\uFE0E', word: 'expired', tone: 'waiting' },
  running: { glyph: '●', word: 'running', tone: 'active' },
  ok: { glyph: '✓', word: 'ok', tone: 'good' },
  error: { glyph: '✗', word: 'failed', tone: 'failed' },
  failed: { glyph: '✗', word: 'failed', tone: 'failed' },
  cancelled: { glyph: '■', word: 'cancelled', tone: 'quiet' },
  timed_out: { glyph: '◷', word: 'timed out', tone: 'failed' },
  unknown: { glyph: '?', word: 'unknown', tone: 'waiting' },
};

/** States whose word says that they were not seen. */
const NEWS = new Set(['done_unseen', 'request_expired']);

export const sessionState = (state) => SESSION_STATES[state] ?? { glyph: '·', word: String(state), tone: 'quiet' };
export const callState = (status) => CALL_STATES[status] ?? { glyph: '?', word: String(status), tone: 'waiting' };

/** The state of a session that rests, with what waits there and whether it was seen. @param {any} row a Session */
export function restingWords(row) {
  const { word } = sessionState(row.state);
  if (row.state === 'queued' || row.state === 'queue_paused') return `${word} ${row.queued}`;
  if (row.queued) return `${word}, ${row.queued} wait${row.queued === 1 ? 's' : ''}, paused`;
  return row.unseen && !NEWS.has(row.state) ? `${word} unseen` : word;
}

/**
 * What messages in the queue wait for, and so what lets them go on. What steers goes in at the next step of a turn,
 * unless that is being stopped for what is sent now.
 * @param {{isRunning: boolean, paused: boolean, isChild: boolean, waiting: {mode?: string}[]}} how
 */
export function queueWaits({ isRunning, paused, isChild, waiting }) {
  if (isChild && !isRunning) return 'the child agent has ended';
  if (paused) return 'paused until your next message';
  const isStopped = !isRunning || waiting.some(({ mode }) => mode === 'now');
  const steers = isStopped ? 0 : waiting.filter(({ mode }) => mode === 'steer').length;
  if (!steers) return 'for the running turn to end';
  if (steers === waiting.length) return 'for the next step of the running turn';
  return `${steers} for the next step, ${waiting.length - steers} for the running turn to end`;
}

/** Why and when a model call is tried again. @param {any} retry @param {number} ms left */
export function retryWords({ reason, attempt, max_attempts: most }, ms) {
  return `${reason}. Trying again in ${Math.max(0, Math.ceil(ms / 1000))} s (attempt ${attempt + 1} of ${most}); Stop stops it`;
}

/** What stays of it when it was tried again. */
export const triedWords = ({ reason, attempt, max_attempts: most }) => `${reason} (attempt ${attempt} of ${most})`;

/** `42s`, `5m 23s`, `1h 2m`: floored, never negative. @param {number} ms */
export function duration(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000) || 0);
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m ${seconds % 60}s`;
  return `${Math.floor(seconds / 3600)}h ${Math.floor((seconds % 3600) / 60)}m`;
}

/** Of a tool call: `0.3s` while that says something. */
export const shortDuration = (ms) => (ms < 9950 ? `${(Math.max(0, ms) / 1000).toFixed(1)}s` : duration(ms));

/** In the largest unit alone: `42s`, `5m`, `3h`, `2d`. @param {number} ms */
export function span(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000) || 0);
  for (const [size, unit] of [[86400, 'd'], [3600, 'h'], [60, 'm']]) {
    if (seconds >= Number(size)) return `${Math.floor(seconds / Number(size))}${unit}`;
  }
  return `${seconds}s`;
}

/** The minute, with the date unless it is today. @param {string} iso */
export function moment(iso) {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return '';
  const two = (value) => String(value).padStart(2, '0');
  const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
  if (at.toDateString() === new Date().toDateString()) return time;
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${time}`;
}

/** `950`, `12.3k`, `1.2M`; `?` when nobody reported it. */
export function tokens(count) {
  if (count === null || count === undefined) return '?';
  if (count < 1000) return String(count);
  return count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
}

/**
 * A decimal as text, in dollars with four digits, above 1000 with two: no float touches it. Below half of the last
 * digit it says so instead of zero.
 * @param {string} decimal
 */
export function money(decimal) {
  const found = /^(-?)(\d+)(?:\.(\d+))?$/.exec(plainDecimal(decimal));
  if (!found) return `$${decimal}`;
  const [, sign, whole, fraction = ''] = found;
  const digits = whole.length > 3 ? 2 : 4;
  let units = BigInt(whole + fraction.padEnd(digits, '0').slice(0, digits));
  if ((fraction[digits] ?? '0') >= '5') units += 1n;
  if (units === 0n && /[1-9]/.test(whole + fraction)) return '<$0.0001';
  const text = String(units).padStart(digits + 1, '0');
  const grouped = text.slice(0, -digits).replace(/\B(?=(\d{3})+$)/g, ',');
  return `${sign}$${grouped}.${text.slice(-digits)}`;
}

/** Without an exponent, which a very small amount may come with. */
function plainDecimal(decimal) {
  const found = /^(-?)(\d+)(?:\.(\d+))?[eE]([+-]?\d+)$/.exec(decimal);
  if (!found) return decimal;
  const [, sign, whole, fraction = '', exponent] = found;
  const point = whole.length + Number(exponent);
  const digits = (whole + fraction).padStart(whole.length + Math.max(0, 1 - point), '0').padEnd(point, '0');
  const at = Math.max(1, point);
  return `${sign}${digits.slice(0, at)}${digits.length > at ? `.${digits.slice(at)}` : ''}`;
}

/**
 * What is known of a cost; what has no price is named and never counted as zero, what nobody pays is `demo`; empty
 * when nothing was called.
 * @param {{cost_usd: string|null, unpriced: number|null, lost: number|null, made_up_usd: string|null}} spent of a session, a turn, a group
 */
export function cost(spent) {
  const { cost_usd: usd, unpriced, lost } = spent;
  const isUnknown = Boolean(unpriced || lost);
  const isUnreported = usd === null && unpriced === 0;
  if (usd === null || usd === undefined || !/[1-9]/.test(usd)) return isUnknown || isUnreported ? 'no price' : '';
  return `${money(usd)}${isMadeUp(spent) ? ' demo' : ''}${isUnknown ? ' +?' : ''}`;
}

/** Said where the exact amount is. @param {{cost_usd: string|null, made_up_usd: string|null}} spent */
export function exactCost(spent) {
  if (!/[1-9]/.test(spent.cost_usd ?? '')) return null;
  const part = /[1-9]/.test(spent.made_up_usd ?? '') ? `, of which $${spent.made_up_usd} are made up by the demo` : '';
  return `exactly $${spent.cost_usd}${isMadeUp(spent) ? ', made up by the demo: nobody pays it' : part}`;
}

/** Whether all of it is: an amount at prices that only the demo has. */
export function isMadeUp({ cost_usd: usd, made_up_usd: madeUp }) {
  const plain = (decimal) => String(decimal).replace(/(\.\d*?)0+$/, '$1').replace(/\.$/, '');
  return /[1-9]/.test(usd ?? '') && plain(usd) === plain(madeUp);
}

/** `16 calls, 6 without a price, 1 lost`. @param {{calls: number, unpriced: number, lost: number}} figures */
export function counted({ calls, unpriced, lost }) {
  const apart = [unpriced && unpriced !== calls ? `${unpriced.toLocaleString('en')} without a price` : '', lost ? `${lost.toLocaleString('en')} lost` : ''];
  return [plural(calls, 'call'), ...apart.filter(Boolean)].join(', ');
}

const CHANNELS = { tui: 'app', web: 'browser', cli: 'shell' };

/** ` by you (app)`, ` by cos ask`; empty when nobody is named. @param {string|null|undefined} answeredBy */
export function by(answeredBy) {
  if (!answeredBy) return '';
  return ` by ${answeredBy in CHANNELS ? `you (${CHANNELS[answeredBy]})` : oneLine(answeredBy)}`;
}

export const plural = (count, word) => `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;

// eslint-disable-next-line no-control-regex, no-misleading-character-class
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu;

/** Text of which every character shows: what hides or turns the direction of writing is spelled out. */
export function exact(text) {
  return text.replace(HIDDEN, (found) => `\\u{${(found.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Text of any origin on one line. */
export const oneLine = (text) => exact(String(text ?? '').replace(/\s+/g, ' ').trim());

const TAG = /^[a-z0-9_-]+:[A-Za-z0-9_.-]+$/;

/** @param {string} text tags with blanks or commas between; a leading # is fine. @returns {{tags: string[], bad: string|null}} */
export function parseTags(text) {
  const tags = text.split(/[\s,]+/).map((tag) => tag.replace(/^#/, '')).filter(Boolean);
  return { tags: [...new Set(tags)], bad: tags.find((tag) => !TAG.test(tag)) ?? null };
}
