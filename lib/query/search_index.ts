/**
 * Finding the tests that a query matches. A list is asked many questions before it changes, so it
 * is indexed: each term narrows a set of bits, one for each test, and only what is left is searched
 * for words.
 */
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { dayOf } from "../timestamp.ts";
import { addAll, addBit, allBits, type Bits, keepCommon, numbersOf, wordCount } from "./bits.ts";
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
  /** Tests by the day (UTC) of their first disruption; in none when there was none. */
  readonly #firstSeen = new Map<string, Bits>();
  /** Tests by the day (UTC) of their latest disruption; in none when there was none. */
  readonly #lastSeen = new Map<string, Bits>();
  /** Tests by tag, folded. */
  readonly #tags = new Map<string, Bits>();

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

  /** The positions of the tests for which every term of a query holds, the smallest first. */
  find(query: Query): number[] {
    const candidates = allBits(this.#size);
    const words: string[] = [];
    for (const term of query.terms) {
      this.#narrow(candidates, term);
      if (term.kind === "text") words.push(term.text);
    }
    const positions = numbersOf(candidates);
    if (words.length === 0) return positions;
    return positions.filter((position) =>
      words.every((word) => this.#texts[position]!.includes(word))
    );
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
    days: ReadonlyMap<string, Bits>,
    { operator, day: wanted }: { operator: DayOperator; day: string },
  ): void {
    this.#keepAny(
      candidates,
      [...days].map(([day, tests]) => compareDay(day, operator, wanted) ? tests : undefined),
    );
  }

  #keepAny(candidates: Bits, sets: (Bits | undefined)[]): void {
    const union = new Uint32Array(candidates.length);
    for (const tests of sets) if (tests) addAll(union, tests);
    keepCommon(candidates, union);
  }

  #add(sets: Map<string, Bits>, key: string, position: number): void {
    let tests = sets.get(key);
    if (!tests) sets.set(key, tests = new Uint32Array(wordCount(this.#size)));
    addBit(tests, position);
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
