/**
 * No decision by accident: a card takes one only after it has been on screen, unchanged, with the window in front and
 * a quiet keyboard, for a moment.
 */

export const ARM_MS = 400;

/** @type {Set<Arming>} */
const all = new Set();

/** Every card arms anew: something moved under the pointer, or the window came to the front. */
export function disarmAll() {
  for (const arming of all) arming.restart();
}

for (const event of ['focus', 'blur', 'resize']) addEventListener(event, disarmAll);
document.addEventListener('visibilitychange', disarmAll);

export class Arming {
  isArmed = false;
  #inSight = false;
  #timer = 0;
  #round = 0;
  #observer;

  /** @param {HTMLElement} node @param {(isArmed: boolean) => void} changed */
  constructor(node, changed) {
    this.changed = changed;
    this.#observer = new IntersectionObserver((entries) => {
      const inSight = entries.some((entry) => entry.isIntersecting);
      if (inSight === this.#inSight) return;
      this.#inSight = inSight;
      this.restart();
    });
    this.#observer.observe(node);
    all.add(this);
  }

  restart() {
    clearTimeout(this.#timer);
    this.#set(false);
    const round = ++this.#round;
    if (!this.#mayArm) return;
    const count = () => {
      if (round === this.#round) this.#timer = setTimeout(() => this.#set(this.#mayArm), ARM_MS);
    };
    // Painted first: the moment is counted from when it can be seen.
    requestAnimationFrame(() => requestAnimationFrame(count));
  }

  end() {
    clearTimeout(this.#timer);
    this.#observer.disconnect();
    all.delete(this);
    this.#set(false);
  }

  get #mayArm() {
    return all.has(this) && this.#inSight && !document.hidden && document.hasFocus();
  }

  #set(isArmed) {
    if (isArmed === this.isArmed) return;
    this.isArmed = isArmed;
    this.changed(isArmed);
  }
}
