import { setImmediate } from "node:timers/promises";

/**
 * Single-flight: concurrent callers share one run. A caller never receives a result that started
 * before its call, because a run starts at the end of the turn of the event loop in which it was
 * first called for, and takes no callers after that.
 */
export class SingleFlight<T> {
  readonly #pending = new Map<string, Promise<T>>();

  /** @param key names everything that the result depends on, except the time */
  run(key: string, act: () => Promise<T>): Promise<T> {
    let run = this.#pending.get(key);
    if (!run) this.#pending.set(key, run = this.#start(key, act));
    return run;
  }

  async #start(key: string, act: () => Promise<T>): Promise<T> {
    await setImmediate();
    this.#pending.delete(key);
    return await act();
  }
}
