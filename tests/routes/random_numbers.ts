/** Seeded random choices. */
export interface Random {
  /** A whole number from 0 to below the limit. */
  below(limit: number): number;
  chance(probability: number): boolean;
  one<T>(values: readonly T[]): T;
  /** Calls one of the functions, chosen by weight. */
  pick<T>(choices: readonly (readonly [weight: number, make: () => T])[]): T;
  shuffle<T>(values: readonly T[]): T[];
}

/** Creates the choices for a number and a seed. */
export function createRandom(seed: number, number: number): Random {
  // Mulberry32, with distant states for consecutive numbers.
  let state = Math.imul(seed, 0x9e3779b1) ^ Math.imul(number + 1, 0x85ebca6b);

  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const random: Random = {
    below: (limit) => Math.floor(next() * limit),
    chance: (probability) => next() < probability,
    one(values) {
      if (values.length === 0) throw new RangeError("nothing to choose from");
      return values[random.below(values.length)]!;
    },
    pick(choices) {
      let left = next() * choices.reduce((sum, [weight]) => sum + weight, 0);
      for (const [weight, make] of choices) {
        left -= weight;
        if (left < 0) return make();
      }
      return choices.at(-1)![1]();
    },
    shuffle(values) {
      const shuffled = [...values];
      for (let last = shuffled.length - 1; last > 0; last--) {
        const other = random.below(last + 1);
        [shuffled[last], shuffled[other]] = [shuffled[other]!, shuffled[last]!];
      }
      return shuffled;
    },
  };
  return random;
}
