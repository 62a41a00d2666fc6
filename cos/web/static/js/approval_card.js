/** One request: exactly and wholly what would run, or a question; decided by a click or a key on this card alone. */

import { Arming } from './arming.js';
import { now, since, stopTick, tick } from './clock.js';
import { diffView } from './diff.js';
import { button, el, setAttribute, setText } from './dom.js';
import { decisionsOf, endOf, lateWords, LOST, outcomeOf, questionDecisions } from './decisions.js';
import { notice } from './notices.js';
import { showWhole } from './whole_text.js';
import * as words from './words.js';

/** Within so many milliseconds a click was meant for what stood there before. */
const JUST_MS = 2000;
/** Second steps that take words. */
const WRITTEN = new Set(['deny', 'edit']);

export class ApprovalCard {
  #held = null;
  /** What of the request is drawn; a change arms anew. */
  #key = '';
  /** The choice that allows more than this once, while its rule is shown. */
  #confirming = null;
  #picked = null;
  #isRead = false;
  #endedAt = -Infinity;
  /** What was written for a second step that was left, by its choice. */
  #kept = new Map();
  /** The buttons of `decisions`, in the same order. @type {HTMLElement[]} */
  #nodes = [];
  #choices = el('div', { class: 'decisions choices' });
  #buttons = el('div', { class: 'decisions' });

  /** @param {{respond: (approval: any, decision: any) => void, openSession: (id: string) => void}} parts */
  constructor({ respond, openSession }) {
    this.respond = respond;
    this.age = el('span', { class: 'age' });
    this.head = el('header');
    this.detail = el('div', { class: 'detail' });
    this.hint = el('p', { class: 'hint' });
    this.openSession = openSession;
    this.write = el('textarea', { rows: '2', hidden: true, on: { keydown: (event) => this.#writing(event), input: () => this.#written() } });
    this.node = el('article', { class: 'card', tabindex: '0' }, this.head, this.detail, this.#choices, this.write, this.#buttons, this.hint);
    this.node.addEventListener('keydown', (event) => this.#pressed(event));
    this.node.addEventListener('focus', () => this.arming.restart());
    this.node.addEventListener('click', () => performance.now() - this.#endedAt < JUST_MS && this.#late());
    // A press on a button leaves the focus where it is: no key afterwards can press it again.
    for (const box of [this.#choices, this.#buttons]) {
      box.addEventListener('mousedown', (event) => event.preventDefault());
      box.addEventListener('keydown', (event) => this.#onButton(event));
    }
    this.detail.addEventListener('scroll', () => this.#readOn(), { capture: true, passive: true });
    this.arming = new Arming(this.node, () => this.#armed());
    new ResizeObserver(() => this.#readOn()).observe(this.detail);
  }

  get approval() {
    return this.#held.approval;
  }

  /** @param {{approval: any, sent: string|null, said: string}} held */
  update(held) {
    const { approval, sent, said } = held;
    if (approval.status !== 'pending' && this.#held?.approval.status === 'pending') this.#endedAt = performance.now();
    if (approval.editable !== this.#held?.approval.editable) this.#kept.delete('edit');
    this.#held = held;
    const key = JSON.stringify([approval.content_hash, approval.detail, approval.diff, approval.status, approval.choices, sent, said]);
    if (key === this.#key) return;
    this.#key = key;
    const isPending = approval.status === 'pending';
    this.node.className = `card ${approval.kind === 'question' ? 'question' : ''} ${isPending ? '' : 'over'}`;
    setAttribute(this.node, 'aria-label', `${approval.kind === 'question' ? 'question' : `approval of ${approval.tool}`}: ${words.oneLine(approval.title)}`);
    this.#drawHead(approval);
    this.#drawDetail(approval);
    // What was refused can be written differently; a text that changed is another request.
    if (this.#confirming?.choice !== 'edit' || approval.editable !== this.#confirming.text) this.#confirming = null;
    this.#drawButtons();
    this.arming.restart();
  }

  end() {
    this.arming.end();
    this.node.remove();
  }

  #drawHead(approval) {
    const isQuestion = approval.kind === 'question';
    this.head.replaceChildren(...[
      el('div', { class: 'line' }, el('strong', { text: isQuestion ? 'A question for you' : words.oneLine(approval.tool) }),
        isQuestion ? null : el('span', { class: `risk risk-${words.oneLine(approval.risk)}`, text: words.oneLine(approval.risk) }), this.age),
      this.#sessionLink(approval.session_title, approval.session_id, ''),
      approval.root_title === null ? null : this.#sessionLink(approval.root_title, approval.root_session_id, '← '),
      el('span', { class: 'about', text: words.oneLine([approval.profile_id, ...(approval.tags ?? []).map((tag) => `#${tag}`)].join(' · ')) }),
    ].filter((node) => node !== null));
    if (approval.reason && !isQuestion) this.head.append(el('p', { class: 'reason', text: words.oneLine(approval.reason) }));
    if (approval.status === 'pending') tick(this.age, () => ageWords(approval));
    else {
      stopTick(this.age);
      setText(this.age, endOf(approval));
    }
  }

  #sessionLink(title, id, before) {
    return button(`${before}${words.oneLine(title)}`, () => this.openSession(id), { class: 'link', tabindex: '-1', title: 'open this session' });
  }

  #drawDetail(approval) {
    const shown = [];
    const text = approval.detail || approval.title || '';
    if (approval.kind === 'question') shown.push(el('p', { class: 'asked', text: words.exact(text) }));
    else {
      const title = approval.title ?? '';
      if (title && !text.startsWith(title.replace(/^\$ /, '').replace(/[ …]+$/, ''))) shown.push(el('p', { class: 'asked', text: words.exact(title) }));
      if (approval.diff) shown.push(diffView(approval.diff));
      else shown.push(el('pre', { class: 'exact', text: words.exact(text), tabindex: '-1' }));
      if (approval.diff && approval.detail && !isToldBy(approval.diff, approval.detail)) {
        shown.push(el('p', { class: 'asked', text: 'The whole new text:' }), el('pre', { class: 'exact', text: words.exact(approval.detail), tabindex: '-1' }));
      }
      if (approval.cwd) shown.push(el('p', { class: 'about', text: `in ${words.oneLine(approval.cwd)}` }));
    }
    this.detail.replaceChildren(...shown);
    this.#isRead = false;
    this.#readOn();
  }

  /** Long text must have been seen to its end before it may be allowed. */
  #readOn() {
    if (this.#isRead || this.detail.clientHeight === 0) return;
    const boxes = [this.detail, ...this.detail.querySelectorAll('pre')];
    this.#isRead = boxes.every((box) => box.scrollTop + box.clientHeight >= box.scrollHeight - 4);
    if (this.#held) this.#armed();
  }

  #drawButtons() {
    const { approval, sent } = this.#held;
    const outcome = outcomeOf(this.#held);
    this.write.hidden = outcome !== null || (approval.kind === 'question' ? false : !WRITTEN.has(this.#confirming?.choice));
    this.write.classList.toggle('exact', this.#confirming?.choice === 'edit');
    if (approval.kind === 'question') setAttribute(this.write, 'placeholder', 'or in your own words');
    else setAttribute(this.write, 'placeholder', this.#confirming?.choice === 'edit' ? 'what shall run' : 'why not? The agent receives these words');
    this.decisions = outcome !== null || sent === 'sending' ? [] : approval.kind === 'question'
      ? questionDecisions(approval, { picked: this.#picked, text: this.write.value.trim() })
      : decisionsOf(approval, this.#confirming);
    const nodes = this.decisions.map((decision) =>
      button('', () => this.#decide(decision), { class: `decision ${decision.style ?? ''}`, tabindex: this.#isOfText(decision) ? '0' : '-1', 'aria-keyshortcuts': decision.key, 'aria-pressed': decision.isPicked === undefined ? null : String(decision.isPicked) }),
    );
    nodes.forEach((node, place) => node.append(el('kbd', { text: this.decisions[place].key, 'aria-hidden': 'true' }), this.decisions[place].label));
    const rule = this.#confirming?.rule ? [el('p', { class: 'rule', text: words.exact(this.#confirming.rule) })] : [];
    const isChoice = (_, place) => this.decisions[place].pick !== undefined;
    this.#choices.replaceChildren(...nodes.filter(isChoice));
    this.#buttons.replaceChildren(...rule, ...nodes.filter((node, place) => !isChoice(node, place)));
    this.#nodes = nodes;
    this.#armed(outcome);
  }

  #armed(outcome = outcomeOf(this.#held)) {
    const isReady = this.arming?.isArmed ?? false;
    this.node.classList.toggle('armed', isReady);
    for (const [place, node] of this.#nodes.entries()) {
      const decision = this.decisions[place];
      setAttribute(node, 'aria-disabled', isReady && (!decision.needsReading || this.#isRead) ? null : 'true');
    }
    const kept = this.#kept.get('deny') && !this.#confirming ? 'Your reason is kept: r shows it again. ' : '';
    const unread = !this.#isRead && this.decisions?.some((decision) => decision.needsReading) ? 'Scroll to the end of the text to allow it, or v: whole text' : '';
    setText(this.hint, outcome ?? (this.#held.said || (this.#held.sent === 'lost' ? LOST : kept + unread)));
    this.hint.hidden = this.hint.textContent === '';
    this.hint.classList.toggle('outcome', outcome !== null);
  }

  #decide(decision) {
    if (!this.arming.isArmed || (decision.needsReading && !this.#isRead)) {
      this.arming.restart();
      return;
    }
    this.#do(decision);
  }

  #do(decision) {
    if (decision.pick !== undefined) this.#picked = decision.pick === this.#picked ? null : decision.pick;
    else if (decision.confirm !== undefined) {
      this.#leave();
      this.#confirming = decision.confirm;
      this.write.value = this.#kept.get(decision.confirm?.choice) ?? decision.confirm?.text ?? '';
    }
    else if (decision.write) this.write.focus();
    else if (decision.whole) showWhole(this.approval, () => this.#wholeSeen());
    else {
      const text = this.write.value.trim();
      const reason = decision.takesReason && text ? { reason: text } : {};
      this.respond(this.approval, { ...decision.answer, ...reason, ...(decision.takesEdit ? { edited_args: this.write.value } : {}) });
      return;
    }
    this.#drawButtons();
    if (WRITTEN.has(decision.confirm?.choice)) this.write.focus();
    if (decision.pick !== undefined || decision.confirm !== undefined) this.arming.restart();
  }

  #wholeSeen() {
    this.#isRead = true;
    this.node.focus();
    this.#armed();
  }

  #written() {
    this.#drawButtons();
    this.arming.restart();
  }

  #writing(event) {
    if (event.key === 'Escape') {
      this.#leave();
      this.#drawButtons();
      this.node.focus();
    } else if (event.key === 'Enter' && !event.shiftKey && !event.isComposing && event.keyCode !== 229) {
      const decision = this.decisions.find((one) => this.#isOfText(one));
      // Words were written for it: it cannot be an accident, so that nothing has to be waited for.
      if (decision) event.preventDefault();
      if (decision && !event.repeat && this.write.value.trim()) this.#do(decision);
    }
    event.stopPropagation();
  }

  /** What is written stays, for when the second step is taken again. */
  #leave() {
    if (WRITTEN.has(this.#confirming?.choice)) this.#kept.set(this.#confirming.choice, this.write.value);
    this.#confirming = null;
  }

  /** Whether it sends the reason or the answer that stands in the lines above it. */
  #isOfText(decision) {
    return Boolean(decision.takesReason || (decision.answer?.choice === 'answer' && this.write.value.trim()));
  }

  /** A key on a button: only those of a written text have the focus. */
  #onButton(event) {
    if (event.key === 'Tab') return;
    event.preventDefault();
    if (event.key !== 'Enter' && event.key !== ' ') return;
    const decision = this.decisions[this.#nodes.indexOf(event.target)];
    if (decision && !event.repeat && event.target.tabIndex === 0) this.#do(decision);
  }

  /** Another was first; of what was decided here nothing more is said. */
  #late() {
    if (this.#held.sent !== 'sending') notice(lateWords(this.approval), { tone: 'waiting' });
  }

  #pressed(event) {
    if (event.target !== this.node || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === 'Escape' && this.#confirming) {
      this.#leave();
      this.#drawButtons();
      event.stopPropagation();
      return;
    }
    const box = this.detail.querySelector('pre') ?? this.detail;
    const page = { PageDown: 1, PageUp: -1 }[event.key];
    if (page) box.scrollBy({ top: page * box.clientHeight * 0.9 });
    const decision = this.decisions.find(({ key }) => key === event.key);
    // A letter that decides nothing here does nothing elsewhere, either: it was meant for this card.
    const isStray = /^[a-z0-9]$/i.test(event.key) && !'jk'.includes(event.key);
    if (!page && !decision && !isStray) return;
    event.preventDefault();
    event.stopPropagation();
    if (decision && !event.repeat) this.#decide(decision);
    else if (!page && this.approval.status !== 'pending') this.#late();
    else if (!page) this.arming.restart();
  }
}

function ageWords(approval) {
  const left = approval.expires_at ? `, ${words.duration(Date.parse(approval.expires_at) - now())} left` : '';
  return `waits ${words.duration(since(approval.requested_at))}${left}`;
}

/** A new file's lines all stand in its diff. */
function isToldBy(diff, text) {
  const added = diff.split('\n').filter((line) => line.startsWith('+') && !line.startsWith('+++ ')).map((line) => line.slice(1));
  return added.join('\n').trimEnd() === text.trimEnd();
}
