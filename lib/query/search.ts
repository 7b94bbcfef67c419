/** Finds the tests that match a query. Each term filters what the terms before it left. */
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { parseDay, SECONDS_PER_DAY } from "../base/time.ts";
import { foldCase, type SeenTerm, type Term } from "./parse.ts";

/** Tests prepared for many queries. */
export class TestSearch {
  /** Suite, name, file and class of each test, folded, one per line. */
  readonly #texts: string[];
  /** Days since 1970, NaN for none: it compares with nothing. */
  readonly #firstSeen: Float64Array;
  readonly #lastSeen: Float64Array;
  /** The folded tags of each test. */
  readonly #tags: readonly string[][];

  constructor(tests: readonly TrackedTest[]) {
    // A word of a query contains no line end, so that none matches across two fields.
    this.#texts = tests.map((test) =>
      foldCase([test.suite, test.name, test.file, test.class].join("\n"))
    );
    this.#firstSeen = Float64Array.from(tests, (test) => dayOf(test.firstDisruptionAt));
    this.#lastSeen = Float64Array.from(tests, (test) => dayOf(test.latestDisruption?.recordedAt));
    this.#tags = tests.map(({ tags }) => tags.map(foldCase));
  }

  /** The positions, in their order, whose tests match all terms. */
  find(terms: readonly Term[], positions: readonly number[]): readonly number[] {
    let found = positions;
    // Tags and days first: they are cheaper than a search of a text.
    for (const term of terms) {
      if (term.kind === "tags") found = this.#withTag(term.tags, found);
      else if (term.kind !== "text") found = this.#seen(term, found);
    }
    for (const term of terms) {
      if (term.kind === "text") {
        found = found.filter((position) => this.#texts[position]!.includes(term.text));
      }
    }
    return found;
  }

  #seen({ kind, operator, day }: SeenTerm, positions: readonly number[]): readonly number[] {
    const days = kind === "first-seen" ? this.#firstSeen : this.#lastSeen;
    const bound = parseDay(day)!;
    let [first, last] = [-Infinity, Infinity];
    if (!operator.startsWith("<")) first = operator === ">" ? bound + 1 : bound;
    if (!operator.startsWith(">")) last = operator === "<" ? bound - 1 : bound;
    return positions.filter((position) => days[position]! >= first && days[position]! <= last);
  }

  #withTag(tags: readonly string[], positions: readonly number[]): readonly number[] {
    const wanted = new Set(tags);
    return positions.filter((position) => this.#tags[position]!.some((tag) => wanted.has(tag)));
  }
}

function dayOf(moment: number | null | undefined): number {
  return moment === null || moment === undefined ? NaN : Math.floor(moment / SECONDS_PER_DAY);
}
