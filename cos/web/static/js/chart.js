/** Small drawings. Every figure that they show stands beside them as text, too. */

import { el, svg } from './dom.js';
import { money } from './words.js';

const WIDTH = 280;
const HEIGHT = 64;

/** A bar from 0 to 1 of its width; anything above 0 shows. @param {number} share */
export function bar(share) {
  const width = share > 0 ? Math.max(1, Math.min(100, share * 100)) : 0;
  return svg(
    'svg',
    { class: 'bar', viewBox: '0 0 100 6', preserveAspectRatio: 'none', 'aria-hidden': 'true' },
    svg('rect', { class: 'track', width: 100, height: 6 }),
    svg('rect', { class: 'fill', width, height: 6 }),
  );
}

/**
 * Upright bars, one a day.
 * @param {{day: string, cost_usd: string|null}[]} days
 * @returns {Element}
 */
export function dayChart(days) {
  const amounts = days.map(({ cost_usd: usd }) => Number(usd ?? 0));
  const most = Math.max(...amounts, 0);
  const step = WIDTH / days.length;
  const bars = days.map(({ day, cost_usd: usd }, place) => {
    const height = most > 0 && amounts[place] > 0 ? Math.max(2, (amounts[place] / most) * (HEIGHT - 4)) : 1;
    const gap = Math.min(3, step * 0.2);
    const node = svg('rect', {
      class: amounts[place] > 0 ? 'fill' : 'none',
      x: place * step + gap / 2,
      y: HEIGHT - height,
      width: Math.max(1, Math.min(step - gap, 28)),
      height,
      rx: 1.5,
    });
    node.append(svg('title', { text: `${day}: ${usd === null ? 'no price' : money(usd)}` }));
    return node;
  });
  const label = `cost of ${days.length} days, most ${money(String(dearest(days)?.cost_usd ?? '0'))}`;
  const drawing = svg('svg', { class: 'days', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label }, ...bars);
  return el(
    'figure',
    {},
    drawing,
    el('figcaption', {}, el('span', { text: days[0].day }), el('span', { text: days.length > 1 ? days[days.length - 1].day : '' })),
  );
}

function dearest(days) {
  return days.reduce((most, day) => (Number(day.cost_usd ?? 0) > Number(most?.cost_usd ?? 0) ? day : most), days[0]);
}

/** Every day from the first to the last, also those on which nothing was called. */
export function withoutGaps(days) {
  if (days.length === 0) return [];
  const known = new Map(days.map((day) => [day.day.slice(0, 10), day.cost_usd]));
  const last = days[days.length - 1].day.slice(0, 10);
  const found = [];
  for (let at = new Date(`${days[0].day.slice(0, 10)}T00:00:00Z`); found.length < 400; at.setUTCDate(at.getUTCDate() + 1)) {
    const day = at.toISOString().slice(0, 10);
    found.push({ day, cost_usd: known.has(day) ? known.get(day) : '0' });
    if (day >= last) break;
  }
  return found;
}
