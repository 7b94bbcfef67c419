/** What a cache holds at most, and how much of it a value takes. */
export interface CacheOptions<T> {
  maxWeight: number;
  weigh(value: T, key: string): number;
}

/**
 * Values that are dear to make, by keys that name everything they depend on: a value is never
 * replaced, it only becomes unasked for. Those not asked for longest are dropped first.
 */
export class Cache<T> {
  // A Map iterates in order of insertion: the first entry is the one not asked for longest.
  readonly #values = new Map<string, { value: T; weight: number }>();
  readonly #loading = new Map<string, Promise<T>>();
  readonly #options: CacheOptions<T>;
  #weight = 0;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
  }

  /** Whether the value of a key is here, or on its way. */
  has(key: string): boolean {
    return this.#values.has(key) || this.#loading.has(key);
  }

  /** The value of a key if it is here; a look that does not count as being asked for. */
  peek(key: string): T | undefined {
    return this.#values.get(key)?.value;
  }

  /**
   * The value of a key, made by `load` when it is not here. Those who ask while it is being made
   * wait for the same one; a failure is theirs as well and is not kept.
   */
  get(key: string, load: () => Promise<T>): T | Promise<T> {
    const entry = this.#values.get(key);
    if (entry) {
      this.#values.delete(key);
      this.#values.set(key, entry);
      return entry.value;
    }
    const running = this.#loading.get(key);
    if (running) return running;
    const loading = this.#load(key, load);
    this.#loading.set(key, loading);
    return loading;
  }

  /** Keeps a value that was not asked for; one that is here already stays. */
  put(key: string, value: T): void {
    if (!this.#values.has(key)) this.#keep(key, value);
  }

  async #load(key: string, load: () => Promise<T>): Promise<T> {
    try {
      const value = await load();
      this.put(key, value);
      return value;
    } finally {
      this.#loading.delete(key);
    }
  }

  #keep(key: string, value: T): void {
    const weight = this.#options.weigh(value, key);
    if (weight > this.#options.maxWeight) return;
    this.#values.set(key, { value, weight });
    this.#weight += weight;
    for (const [oldest, entry] of this.#values) {
      if (this.#weight <= this.#options.maxWeight) break;
      this.#values.delete(oldest);
      this.#weight -= entry.weight;
    }
  }
}
