/**
 * Work whose outcome everybody shares who asked before it began. Nobody gets an outcome from before
 * the own question, so it is as fresh as if everybody had worked alone; and those who ask while the
 * same work runs wait together for the next run, so that a crowd costs hardly more than one.
 */
export class SharedRuns<T> {
  /** By key: the run under way, and the one that begins when it ends, if somebody waits for it. */
  readonly #runs = new Map<string, { current: Promise<T>; next: Promise<T> | null }>();

  /**
   * The outcome of a run that begins now or later.
   *
   * @param key names everything that the outcome depends on, except the time
   */
  get(key: string, run: () => Promise<T>): Promise<T> {
    const entry = this.#runs.get(key);
    if (!entry) return this.#begin(key, run);
    return entry.next ??= entry.current.then(
      () => this.#begin(key, run),
      () => this.#begin(key, run),
    );
  }

  #begin(key: string, run: () => Promise<T>): Promise<T> {
    const entry = { current: run(), next: null };
    this.#runs.set(key, entry);
    const end = () => {
      // Otherwise the next run takes its place.
      if (entry.next === null) this.#runs.delete(key);
    };
    entry.current.then(end, end);
    return entry.current;
  }
}
