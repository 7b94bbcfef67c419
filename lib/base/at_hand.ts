/**
 * Values that are at hand, or on their way. Waiting for what is at hand costs a turn and objects
 * that nobody needs; a request that finds all that it needs is answered in one go.
 */

/** A value, or the promise of one. */
export type AtHand<T> = T | Promise<T>;

/** Uses a value as soon as it is there: now, if it is at hand. */
export function use<T, R>(value: AtHand<T>, act: (value: T) => AtHand<R>): AtHand<R> {
  return value instanceof Promise ? value.then(act) : act(value);
}
