/**
 * Things that come and go quickly, each in a slot of its own that the next one takes over.
 *
 * A `Map` would do as well, but for what the engine makes of it: when it grows or shrinks, its old
 * table points to the new one, so that once one table has become old garbage, all that came through
 * later ones is kept until the whole heap is collected. With requests that was more than half of
 * what the short collections had to move.
 */
export class Slots<T> {
  readonly #values: (T | null)[] = [];
  readonly #free: number[] = [];

  /** Puts a value into a slot; returns the slot's number. */
  add(value: T): number {
    const slot = this.#free.pop() ?? this.#values.length;
    this.#values[slot] = value;
    return slot;
  }

  /** Empties a slot, if it still has this value. Returns whether it had. */
  remove(slot: number, value: T): boolean {
    if (this.#values[slot] !== value) return false;
    this.#values[slot] = null;
    this.#free.push(slot);
    return true;
  }

  /** All values with their slots, in no order; each may be removed meanwhile. */
  *entries(): Generator<[slot: number, value: T]> {
    for (const [slot, value] of this.#values.entries()) if (value !== null) yield [slot, value];
  }
}
