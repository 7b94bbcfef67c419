/**
 * Finding the tests that a query matches. A list is asked many questions before it changes, so it
 * is indexed: each term narrows a set of bits, one for each test, and only what is left is searched
 * for words.
 */
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { dayOf } from "../timestamp.ts";
import {
  addBit,
  allBits,
  type Bits,
  dropBit,
  keepCommon,
  noBits,
  numbersOf,
  wordCount,
} from "./bits.ts";
import { foldCase } from "./fold.ts";
import type { DayOperator, Query, Term } from "./parse.ts";

/** What queries look at in a test. */
export type Searchable = Pick<
  TrackedTest,
  "suite" | "name" | "file" | "class" | "tags" | "firstDisruptionAt" | "latestDisruption"
>;

// With so many sets of three letters, a test of usual length is in one of thirty, and a word of
// seven letters leaves one test in some millions that does not contain it. 512 bytes for a test.
const TRIGRAM_SETS = 4096;

// Fewer are searched for words as fast, and would leave most bits of their words unused.
const MIN_TESTS_FOR_TRIGRAMS = 256;

/** Finds what matches a query among tests that do not change. */
export class SearchIndex {
  readonly #size: number;
  /** Suite, name, file and class of each test, folded, one per line. */
  readonly #texts: string[];
  /** Tests by three letters that their text has side by side; `null` for few tests. */
  readonly #trigrams: Bits[] | null;
  /** Positions of tests by the day (UTC) of their first disruption; in none when there was none. */
  readonly #firstSeen = new Map<string, number[]>();
  /** Positions of tests by the day (UTC) of their latest disruption; in none when there was none. */
  readonly #lastSeen = new Map<string, number[]>();
  /** Positions of tests by tag, folded. Not bits: there may be as many tags as tests. */
  readonly #tags = new Map<string, number[]>();

  constructor(tests: readonly Searchable[]) {
    this.#size = tests.length;
    // A word cannot contain a line end, so none matches across two fields.
    this.#texts = tests.map((test) =>
      foldCase([test.suite, test.name, test.file, test.class].join("\n"))
    );
    this.#trigrams = tests.length < MIN_TESTS_FOR_TRIGRAMS ? null : this.#indexTrigrams();
    for (const [position, { firstDisruptionAt, latestDisruption, tags }] of tests.entries()) {
      if (firstDisruptionAt !== null) {
        this.#add(this.#firstSeen, dayOf(firstDisruptionAt), position);
      }
      if (latestDisruption !== null) {
        this.#add(this.#lastSeen, dayOf(latestDisruption.recordedAt), position);
      }
      for (const tag of tags) this.#add(this.#tags, foldCase(tag), position);
    }
  }

  /** The positions of the tests for which every term of a query holds. */
  find(query: Query): Bits {
    const found = allBits(this.#size);
    const words: string[] = [];
    for (const term of query.terms) {
      this.#narrow(found, term);
      if (term.kind === "text") words.push(term.text);
    }
    if (words.length === 0) return found;
    for (const position of numbersOf(found)) {
      const text = this.#texts[position]!;
      if (!words.every((word) => text.includes(word))) dropBit(found, position);
    }
    return found;
  }

  /** Drops candidates: all that a term does not hold for, of a word only those that cannot have it. */
  #narrow(candidates: Bits, term: Term): void {
    switch (term.kind) {
      case "first-seen":
        return this.#keepDays(candidates, this.#firstSeen, term);
      case "last-seen":
        return this.#keepDays(candidates, this.#lastSeen, term);
      case "tags":
        return this.#keepAny(candidates, term.tags.map((tag) => this.#tags.get(tag)));
      case "text":
        for (let at = 0; this.#trigrams && at + 2 < term.text.length; at++) {
          keepCommon(candidates, this.#trigrams[trigramSet(term.text, at)]!);
        }
    }
  }

  #keepDays(
    candidates: Bits,
    days: ReadonlyMap<string, number[]>,
    { operator, day: wanted }: { operator: DayOperator; day: string },
  ): void {
    this.#keepAny(
      candidates,
      [...days].map(([day, positions]) =>
        compareDay(day, operator, wanted) ? positions : undefined
      ),
    );
  }

  #keepAny(candidates: Bits, sets: (number[] | undefined)[]): void {
    const union = noBits(this.#size);
    for (const positions of sets) {
      for (const position of positions ?? []) addBit(union, position);
    }
    keepCommon(candidates, union);
  }

  #add(sets: Map<string, number[]>, key: string, position: number): void {
    const positions = sets.get(key);
    if (positions) positions.push(position);
    else sets.set(key, [position]);
  }

  #indexTrigrams(): Bits[] {
    const words = wordCount(this.#size);
    const all = new Uint32Array(TRIGRAM_SETS * words);
    const sets = Array.from(
      { length: TRIGRAM_SETS },
      (_, set) => all.subarray(set * words, (set + 1) * words),
    );
    for (const [position, text] of this.#texts.entries()) {
      const word = position >>> 5;
      const bit = 1 << (position & 31);
      // By hand and not through the sets: there are some hundred thousand of them.
      for (let at = 0; at + 2 < text.length; at++) all[trigramSet(text, at) * words + word]! |= bit;
    }
    return sets;
  }
}

/** The set of the three letters (UTF-16 units) from a place on; others may share it. */
function trigramSet(text: string, at: number): number {
  const mixed = text.charCodeAt(at) * 0x1f35 + text.charCodeAt(at + 1) * 0x2a1 +
    text.charCodeAt(at + 2) * 0x1d;
  return (mixed ^ (mixed >>> 9)) & (TRIGRAM_SETS - 1);
}

/** Days of one length sort as texts just as they do in the calendar. */
function compareDay(day: string, operator: DayOperator, wanted: string): boolean {
  switch (operator) {
    case "<":
      return day < wanted;
    case "<=":
      return day <= wanted;
    case ">":
      return day > wanted;
    case ">=":
      return day >= wanted;
    case "=":
      return day === wanted;
  }
}
