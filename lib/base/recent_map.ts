/** A map of what was set last: when there is too much, what was set longest ago goes. */
export class RecentMap<K, V> extends Map<K, V> {
  readonly #maxSize: number;

  /** @param maxSize entries that it holds at most */
  constructor(maxSize: number) {
    super();
    this.#maxSize = maxSize;
  }

  override set(key: K, value: V): this {
    // A map iterates in order of insertion, and keeps the place of a key that is set again.
    this.delete(key);
    super.set(key, value);
    if (this.size > this.#maxSize) this.delete(this.keys().next().value!);
    return this;
  }
}
