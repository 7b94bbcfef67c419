/** How much the passes since the last failure of a test say: whether it may be repaired. */
import { logBeta, PRIOR } from "./beta.ts";
import type { VersionOutcome } from "./segments.ts";

/** Passes since a failure, and how probable they are without a repair. */
export interface Calm {
  /** Runs that passed since. */
  passes: number;
  /** The probability that a test which fails as often as before passes that many times. */
  byChance: number;
  /** The smallest number of passes that happens by chance with at most 5 %. */
  passesNeeded: number;
}

/** What may remain as chance. */
export const MAX_CHANCE = 0.05;

/** More passes than this prove nothing that anyone waits for. */
const MAX_PASSES = 1_000_000_000;

/** @param before the runs up to the last failure, or before a commit that is meant as the repair */
export function calmAfter(before: VersionOutcome, passes: number): Calm {
  return { passes, byChance: chanceOfPasses(before, passes), passesNeeded: passesNeeded(before) };
}

/**
 * The probability of `passes` runs without a failure after `failures` in `runs`:
 * B(0.3 + x, 0.5 + n - x + m) / B(0.3 + x, 0.5 + n - x).
 */
export function chanceOfPasses({ runs, failures }: VersionOutcome, passes: number): number {
  const a = PRIOR.failures + failures;
  const b = PRIOR.passes + runs - failures;
  return Math.exp(logBeta(a, b + passes) - logBeta(a, b));
}

/** The probability that `further` runs all fail after `failures` in `runs`, as for {@linkcode chanceOfPasses}. */
export function chanceOfFailures({ runs, failures }: VersionOutcome, further: number): number {
  const a = PRIOR.failures + failures;
  const b = PRIOR.passes + runs - failures;
  return Math.exp(logBeta(a + further, b) - logBeta(a, b));
}

/** The smallest number of passes that happens by chance with at most 5 %. */
export function passesNeeded(before: VersionOutcome): number {
  let high = 1;
  while (chanceOfPasses(before, high) > MAX_CHANCE) {
    if (high >= MAX_PASSES) return MAX_PASSES;
    high *= 2;
  }
  // The smallest in (low, high].
  for (let low = Math.floor(high / 2); high - low > 1;) {
    const middle = Math.floor((low + high) / 2);
    if (chanceOfPasses(before, middle) > MAX_CHANCE) low = middle;
    else high = middle;
  }
  return high;
}
