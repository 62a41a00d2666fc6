/** What is written and not sent, kept per session, also over a reload. A browser that keeps nothing forgets it. */

const PREFIX = 'cos.draft.';

/** @param {string|null} sessionId null: of the session that does not exist yet */
export function readDraft(sessionId) {
  return stored(() => localStorage.getItem(PREFIX + (sessionId ?? 'new'))) ?? '';
}

export function keepDraft(sessionId, text) {
  const key = PREFIX + (sessionId ?? 'new');
  stored(() => (text ? localStorage.setItem(key, text) : localStorage.removeItem(key)));
}

/** @template T @param {() => T} use @returns {T|null} null where the browser allows no storage */
export function stored(use) {
  try {
    return use();
  } catch {
    return null;
  }
}
