/** Which decisions a request takes, with their keys and words, and how it ended. Nothing here touches the page. */

import { by } from './words.js';

/**
 * @typedef {object} Decision
 * @property {string} key
 * @property {string} label
 * @property {string} [style]
 * @property {object} [answer] what is sent
 * @property {object} [confirm] shown first: `{choice, rule}`, or `{choice, text}` with a text to change
 * @property {boolean} [takesReason]
 * @property {boolean} [takesEdit]
 * @property {boolean} [needsReading] only after the text was seen to its end
 * @property {number} [pick] of a question's choices
 * @property {boolean} [isPicked]
 * @property {boolean} [write] go to the lines where an answer is written
 * @property {boolean} [whole] show the whole text
 */

const WIDER = { session: 'for this session', always: 'always' };
const WHOLE = { key: 'v', label: 'Whole text', style: 'quiet', whole: true };

/** @returns {Decision[]} of a tool call */
export function decisionsOf(approval, confirming) {
  if (confirming?.choice === 'deny') {
    return [
      { key: 'n', label: 'Deny with this reason', style: 'bad', answer: { choice: 'deny' }, takesReason: true },
      { key: 'b', label: 'Back', style: 'quiet', confirm: null },
    ];
  }
  if (confirming?.choice === 'edit') {
    return [
      { key: 'y', label: 'Allow once, as edited', style: 'good', answer: { choice: 'once' }, takesEdit: true, needsReading: true },
      { key: 'b', label: 'Back', style: 'quiet', confirm: null },
    ];
  }
  if (confirming) {
    const label = `Yes, allow ${WIDER[confirming.choice]}`;
    return [
      { key: 'y', label, style: 'good', answer: { choice: confirming.choice }, needsReading: true },
      { key: 'b', label: 'Back', style: 'quiet', confirm: null },
    ];
  }
  const wider = (approval.keeps ? ['session', 'always'] : []).map((choice) => ({
    key: choice === 'session' ? 's' : 'a',
    label: choice === 'session' ? 'For this session …' : 'Always …',
    confirm: { choice, rule: approval.keeps[choice] },
    needsReading: true,
  }));
  return [
    { key: 'y', label: 'Allow once', style: 'good', answer: { choice: 'once' }, needsReading: true },
    { key: 'n', label: 'Deny', style: 'bad', answer: { choice: 'deny' } },
    ...wider,
    { key: 'e', label: 'Edit …', confirm: { choice: 'edit', text: approval.editable } },
    { key: 'r', label: 'Deny, and say why …', confirm: { choice: 'deny', rule: '' } },
    WHOLE,
  ];
}

/** @returns {Decision[]} of a question: a choice is picked first, then sent; own words come before a pick */
export function questionDecisions(approval, { picked, text }) {
  const choices = (approval.choices ?? []).map((choice, place) => ({
    key: String(place + 1),
    label: choice,
    style: 'choice',
    pick: place,
    isPicked: picked === place,
  }));
  const chosen = text || (picked === null ? '' : approval.choices[picked]);
  const send = { key: 'y', label: text ? 'Send these words' : 'Send this answer', style: 'good', answer: { choice: 'answer', text: chosen } };
  return [
    ...choices,
    ...(chosen ? [send] : []),
    { key: 't', label: 'Write', style: 'quiet', write: true },
    { key: 'n', label: 'Deny', style: 'bad', answer: { choice: 'deny' } },
    WHOLE,
  ];
}

const ENDS = {
  allowed: '✓ allowed',
  answered: '✓ answered',
  denied: '⊘ denied',
  expired: '⌛\uFE0E expired: nobody answered in time; it did not run',
  cancelled: '■ cancelled with its turn',
  gone: '? no longer waits; what became of it stands in its session',
};

/** `⊘ denied by you (app)`. */
export function endOf({ status, answered_by: answeredBy }) {
  return ['allowed', 'answered', 'denied'].includes(status) ? `${ENDS[status]}${by(answeredBy)}` : (ENDS[status] ?? status).split(/[:;]/)[0];
}

/** Said when a key or a click comes after somebody else's answer. */
export const lateWords = (approval) => `already ${endOf(approval).replace(/^\S+ /, '')}: yours does not count`;

/** How a request ended, or what of its answer is not known; null while it takes one. @returns {string|null} */
export function outcomeOf({ approval, sent }) {
  if (approval.status !== 'pending') {
    if (['expired', 'cancelled', 'gone'].includes(approval.status)) return ENDS[approval.status];
    return `${endOf(approval)}${approval.answer_reason ? `: ${approval.answer_reason}` : ''}`;
  }
  if (sent === 'sending') return 'sending your answer …';
  if (sent === 'unknown') return '? The connection ended before the server said whether your answer counted. It is not sent again; this shows what holds once the connection is back.';
  return null;
}

/** Said beside the buttons when an answer got lost. */
export const LOST = 'Your answer did not arrive: it still waits. Decide again.';
