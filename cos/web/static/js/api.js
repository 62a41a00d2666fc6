/** Reading over HTTP. */

import { learnServerTime } from './clock.js';

/**
 * @param {string} path below /api/
 * @param {Record<string, string|number|null|undefined>} [query] what is empty is left out
 * @returns {Promise<any>}
 * @throws {Error} with words for the user
 */
export async function read(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== '');
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
  const answer = await fetch(`/api/${path}${given.length ? `?${search}` : ''}`, { cache: 'no-store' });
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(body?.error?.message ?? `the server answered ${answer.status}`);
  learnServerTime(body.server_time);
  return body;
}
