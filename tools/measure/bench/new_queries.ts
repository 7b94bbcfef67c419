/** Queries as people and scripts write them, none twice. */
import { Random } from "./random.ts";

/**
 * Endless texts for `q`: a class, the words of a name, days, parts of a path, a mistyped word.
 * Of ten, about six find a few tests, two find many and two find none.
 */
export function* newQueries(seed = 1): Generator<string, never> {
  const random = new Random(seed);
  const asked = new Set<string>();
  while (true) {
    const query = FORMS[random.below(FORMS.length)]!(random);
    if (asked.has(query)) continue;
    asked.add(query);
    yield query;
  }
}

// Every form has more texts than any run asks for, or repeats would make it rare.
const FORMS: ((random: Random) => string)[] = [
  // A test or a class: few matches.
  (random) => `case ${random.below(2_000) * 10} order first-seen:>=${day(random)}`,
  (random) => `Suite${random.below(800)} first-seen:>=${day(random)}`,
  (random) => `Suite${random.below(800)}Test.java last-seen:<=${day(random, 2100)}`,
  (random) => {
    const suite = random.below(800);
    return `checkout.${suite % 40}.Suite${suite} last-seen:>=${day(random)}`;
  },
  (random) => `handles case ${random.below(2_000)} address last-seen:>${day(random)}`,
  (random) => `checkout.${random.below(40)} customer first-seen:>${day(random)}`,
  // Many: everything since a day.
  (random) => `last-seen:>=${day(random)} first-seen:<=${day(random, 2100)}`,
  (random) => `customer first-seen:>${day(random)} last-seen:<${day(random, 2200)}`,
  // None: mistyped, or long fixed.
  (random) => `Siute${random.hex(8)}`,
  (random) => `${random.hex(6)}Test last-seen:<${day(random)}`,
];

/** Some day of the hundred years that begin then. */
function day(random: Random, from = 1900): string {
  const date = new Date(Date.UTC(from, 0, 1 + random.below(36_500)));
  return date.toISOString().slice(0, 10);
}
