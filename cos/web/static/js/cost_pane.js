/** What it cost, by a tag's key, profile, model, session or day. Unknown is named and never shown as zero. */

import { read } from './api.js';
import { bar, dayChart, withoutGaps } from './chart.js';
import { byId, el, setAttribute, setText } from './dom.js';
import { cost, counted, exactCost, isMadeUp, money, oneLine } from './words.js';

const FIXED = ['profile', 'model', 'session', 'day'];
const PERIODS = { today: 0, week: 6, month: null, all: undefined };
const REFRESH_AFTER = 1500;

export class CostPane {
  #by = /** @type {HTMLSelectElement} */ (byId('cost-by'));
  #since = /** @type {HTMLSelectElement} */ (byId('cost-since'));
  #list = byId('cost-groups');
  #reading = 0;
  #timer = 0;
  #isStale = true;

  constructor() {
    for (const choice of [this.#by, this.#since]) choice.addEventListener('change', () => this.refresh());
    new IntersectionObserver(() => this.#look()).observe(byId('cost'));
    document.addEventListener('visibilitychange', () => this.#look());
    this.setKeys([]);
  }

  /** @param {string[]} keys of tags that were seen */
  setKeys(keys) {
    const chosen = this.#by.value || 'client';
    const all = [...new Set(['client', ...keys, ...(FIXED.includes(chosen) ? [] : [chosen])])].sort();
    const wanted = [...all.map((key) => [key, `#${key}`]), ...FIXED.map((name) => [name, name])];
    if (wanted.map(([key]) => key).join() === [...this.#by.options].map(({ value }) => value).join()) return;
    this.#by.replaceChildren(...wanted.map(([value, text]) => el('option', { value, text: `by ${oneLine(text)}` })));
    this.#by.value = chosen;
  }

  /** Something was paid: fetch again, when it is in sight, and not for every call. */
  changed() {
    this.#isStale = true;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#look(), REFRESH_AFTER);
  }

  #look() {
    const node = byId('cost');
    if (this.#isStale && !document.hidden && node.getClientRects().length > 0) this.refresh();
  }

  async refresh() {
    const mine = ++this.#reading;
    this.#isStale = false;
    try {
      const found = await read('cost', { by: this.#by.value, since: firstDay(this.#since.value) });
      if (mine === this.#reading) this.#draw(found);
    } catch (error) {
      if (mine !== this.#reading) return;
      this.#isStale = true;
      setText(byId('cost-note'), error.message);
    }
  }

  #draw({ groups, total, days }) {
    if (total === null) {
      setText(byId('cost-note'), 'Cost is not recorded: the plugin "bill" is off.');
      return;
    }
    setText(byId('cost-total'), amount(total));
    setAttribute(byId('cost-total'), 'title', exactCost(total));
    setText(byId('cost-note'), notes(total));
    const most = Math.max(0, ...groups.map((group) => Number(group.cost_usd ?? 0)));
    this.#list.replaceChildren(...groups.map((group) => this.#row(group, most)));
    const all = withoutGaps(days ?? []);
    byId('cost-days').replaceChildren(...(all.some(({ cost_usd: usd }) => Number(usd) > 0) ? [dayChart(all)] : []));
    byId('cost-empty').hidden = groups.length > 0;
  }

  #row(group, most) {
    const name = group.label === null || group.label === undefined ? '(none)' : oneLine(group.title ?? group.label);
    return el(
      'li',
      {},
      el('span', { class: 'label', text: name, title: name }),
      el('span', { class: 'figure', text: amount(group), title: exactCost(group) }),
      bar(most > 0 ? Number(group.cost_usd ?? 0) / most : 0),
      el('span', { class: 'about', text: counted(group) }),
    );
  }
}

function amount(group) {
  return group.calls === 0 ? 'no call' : cost(group) || money(group.cost_usd);
}

function notes(sum) {
  const found = [sum.unpriced || sum.lost ? counted(sum) : ''];
  if (/[1-9]/.test(sum.made_up_usd)) {
    found.push(isMadeUp(sum) ? 'all of it is made up by the demo' : `incl. ${money(sum.made_up_usd)} made up by the demo`);
  }
  return found.filter(Boolean).join(' · ');
}

/** The first day of a period in the user's own time zone. @returns {string|null} */
function firstDay(period) {
  const back = PERIODS[period];
  if (back === undefined) return null;
  const at = new Date();
  at.setDate(back === null ? 1 : at.getDate() - back);
  const two = (value) => String(value).padStart(2, '0');
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}
