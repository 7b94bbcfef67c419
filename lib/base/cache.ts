import type { AtHand } from "./at_hand.ts";
import { noPlace, RecencyList, type Recent } from "./recency_list.ts";
import { SeenLately } from "./seen_lately.ts";

/** What a cache holds at most, and how much of it a value takes. */
export interface CacheOptions<T> {
  maxWeight: number;
  weigh(value: T, key: string): number;
  /**
   * Values that are kept although they are asked for once: all unless given, those that had to be
   * waited for, or none. Others are kept when they are asked for again soon.
   */
  keptAtOnce?: "all" | "awaited" | "none";
}

interface Entry<T> extends Recent {
  key: string;
  value: T;
  weight: number;
}

/**
 * Values that are dear to make, by keys that name everything they depend on: a value is never
 * replaced, it only becomes unasked for. Those not asked for longest are dropped first.
 *
 * What is cheap to make need not be kept when it is asked for once: it would drive out the rest, and
 * live longer than its answer, which the short garbage collections pay for.
 */
export class Cache<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #order = new RecencyList<Entry<T>>();
  readonly #loading = new Map<string, Promise<T>>();
  readonly #options: CacheOptions<T>;
  /** What was asked for, where that decides; else `null`. */
  readonly #asked: SeenLately | null;
  #weight = 0;

  constructor(options: CacheOptions<T>) {
    this.#options = options;
    this.#asked = (options.keptAtOnce ?? "all") === "all" ? null : new SeenLately();
  }

  /** Whether the value of a key is here, or on its way. */
  has(key: string): boolean {
    return this.#entries.has(key) || this.#loading.has(key);
  }

  /** The value of a key if it is here; a look that does not count as being asked for. */
  peek(key: string): T | undefined {
    return this.#entries.get(key)?.value;
  }

  /** The value of a key if it is here. */
  find(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry) this.#order.use(entry);
    return entry?.value;
  }

  /**
   * The value of a key, made by `load` when it is not here. Those who ask while it is being made
   * wait for the same one; a failure is theirs as well and is not kept.
   */
  get(key: string, load: () => AtHand<T>): AtHand<T> {
    const entry = this.#entries.get(key);
    if (entry) {
      this.#order.use(entry);
      return entry.value;
    }
    const running = this.#loading.get(key);
    if (running) return running;
    const made = load();
    if (made instanceof Promise) return this.#wait(key, made);
    if (this.#asked?.see(key) ?? true) this.put(key, made);
    return made;
  }

  /** Keeps a value that was not asked for; one that is here already stays. */
  put(key: string, value: T): void {
    if (this.#entries.has(key)) return;
    const weight = this.#options.weigh(value, key);
    if (weight > this.#options.maxWeight) return;
    const entry = { key, value, weight, ...noPlace() };
    this.#entries.set(key, entry);
    this.#order.add(entry);
    this.#weight += weight;
    while (this.#weight > this.#options.maxWeight) this.#drop(this.#order.oldest!);
  }

  #wait(key: string, made: Promise<T>): Promise<T> {
    const isKept = this.#options.keptAtOnce !== "none" || this.#asked?.see(key);
    const loading = made.then((value) => {
      if (isKept) this.put(key, value);
      return value;
    }).finally(() => this.#loading.delete(key));
    this.#loading.set(key, loading);
    return loading;
  }

  #drop(entry: Entry<T>): void {
    this.#entries.delete(entry.key);
    this.#order.remove(entry);
    this.#weight -= entry.weight;
  }
}
