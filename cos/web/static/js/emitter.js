/** Those who want to know are told, in the order in which they asked. */
export class Emitter {
  /** @type {Map<string, Set<(detail: any) => void>>} */
  #listeners = new Map();

  /** @returns {() => void} ends it */
  on(name, listener) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name)?.add(listener);
    return () => this.#listeners.get(name)?.delete(listener);
  }

  emit(name, detail) {
    for (const listener of this.#listeners.get(name) ?? []) listener(detail);
  }
}

/** `run` once at the next frame, however often it is asked for; also when the page is hidden and no frame comes. */
export function perFrame(run) {
  let asked = false;
  const now = () => {
    asked = false;
    run();
  };
  return () => {
    if (asked) return;
    asked = true;
    if (document.hidden) setTimeout(now, 200);
    else requestAnimationFrame(now);
  };
}
