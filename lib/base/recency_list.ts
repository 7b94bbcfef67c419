/** Something that has a place in an order of use. */
export interface Recent {
  newer: Recent | null;
  older: Recent | null;
}

/** Makes something that has no place yet. */
export function noPlace(): Recent {
  return { newer: null, older: null };
}

/**
 * Things in the order in which they were used last. Being used moves two neighbours and the thing
 * itself, and makes nothing: a `Map` that deletes and sets anew becomes a new table every so often,
 * and is slow to tell its first entry after many were deleted.
 */
export class RecencyList<T extends Recent> {
  #newest: T | null = null;
  #oldest: T | null = null;

  /** What was used longest ago, `null` when there is nothing. */
  get oldest(): T | null {
    return this.#oldest;
  }

  /** Puts in something that is used now. */
  add(thing: T): void {
    thing.newer = null;
    thing.older = this.#newest;
    if (this.#newest) this.#newest.newer = thing;
    else this.#oldest = thing;
    this.#newest = thing;
  }

  /** Takes out something that is in. */
  remove(thing: T): void {
    const { newer, older } = thing as { newer: T | null; older: T | null };
    if (newer) newer.older = older;
    else this.#newest = older;
    if (older) older.newer = newer;
    else this.#oldest = newer;
    thing.newer = thing.older = null;
  }

  /** Tells that something that is in is used now. */
  use(thing: T): void {
    if (thing === this.#newest) return;
    this.remove(thing);
    this.add(thing);
  }
}
