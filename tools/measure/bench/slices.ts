/**
 * A fair comparison on a machine whose speed drifts: the contestants take turns in slices of a
 * second or two, and what counts is the median of the ratios of neighbours.
 */

/** The middle of some numbers. */
export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** What each contestant measured, round by round. */
type Rounds<Name extends string, T> = Record<Name, T[]>;

/**
 * Lets the contestants take turns.
 *
 * @param options.isWarm without it, a first round warms them up and is not counted
 */
export async function takeTurns<Name extends string, T>(
  contestants: Record<Name, () => Promise<T>>,
  rounds: number,
  { isWarm = false }: { isWarm?: boolean } = {},
): Promise<Rounds<Name, T>> {
  const names = Object.keys(contestants) as Name[];
  const measured = Object.fromEntries(names.map((name) => [name, [] as T[]])) as Rounds<Name, T>;
  for (let round = isWarm ? 0 : -1; round < rounds; round++) {
    for (const name of names) {
      const slice = await contestants[name]();
      if (round >= 0) measured[name].push(slice);
    }
  }
  return measured;
}

/** The median, over the rounds, of how one contestant's figure stands to another's. */
export function medianRatio<T>(one: T[], other: T[], figure: (slice: T) => number): number {
  return median(one.map((slice, round) => figure(slice) / figure(other[round]!)));
}
