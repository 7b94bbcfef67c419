/**
 * An LRU cache bounded by weight. Keys name everything that a value depends on, or the value
 * carries its version: nothing expires.
 */
export class Cache<K, V> {
  /** In order of use: a Map iterates in order of insertion, and a used entry is inserted again. */
  readonly #entries = new Map<K, { value: V; weight: number }>();
  readonly #maxWeight: number;
  readonly #weigh: (value: V, key: K) => number;
  #weight = 0;

  /** @param options.weigh the weight of an entry, 1 unless given: then `maxWeight` counts entries */
  constructor(
    { maxWeight, weigh = () => 1 }: { maxWeight: number; weigh?: (value: V, key: K) => number },
  ) {
    this.#maxWeight = maxWeight;
    this.#weigh = weigh;
  }

  /** Returns the value of a key and makes it the most recently used. */
  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Stores a value in place of an earlier one, unless it alone is heavier than the cache may be. */
  set(key: K, value: V): void {
    this.delete(key);
    const weight = this.#weigh(value, key);
    if (weight > this.#maxWeight) return;
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const [oldest] of this.#entries) {
      if (this.#weight <= this.#maxWeight) return;
      this.delete(oldest);
    }
  }

  /** Removes an entry, if there is one. */
  delete(key: K): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
  }
}
