/**
 * Finding the tests that a query matches. A list is asked many questions before it changes, so it
 * is indexed: each term narrows a set of bits, one for each test, and only what is left is searched
 * for words.
 */
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { Cache } from "../base/cache.ts";
import { parseDay } from "../base/time.ts";
import {
  addBit,
  type Bits,
  countBits,
  dropBit,
  forEachNumber,
  keepCommon,
  noBits,
  setAll,
  wordCount,
} from "./bits.ts";
import { DayIndex } from "./day_index.ts";
import { foldCase } from "./fold.ts";
import type { Query, Term } from "./parse.ts";

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

// Those that many tests may have are searched for once, in all of these, and kept while they are
// asked for: 32 bytes for a test. Longer ones are hardly in many tests.
const MAX_KEPT_WORDS = 256;
const MAX_KEPT_WORD_CHARACTERS = 64;

/** Finds what matches a query among tests that do not change. */
export class SearchIndex {
  readonly #size: number;
  /** Suite, name, file and class of each test, folded, one per line. */
  readonly #texts: string[];
  /** Tests by three letters that their text has side by side; `null` for few tests. */
  readonly #trigrams: Bits[] | null;
  readonly #firstSeen: DayIndex;
  readonly #lastSeen: DayIndex;
  /** Positions of tests by tag, folded. Not bits: there may be as many tags as tests. */
  readonly #tags = new Map<string, number[]>();
  /** Tests by words that were asked for, and that many tests may have. */
  readonly #words = new Cache<Bits>({ maxWeight: MAX_KEPT_WORDS, weigh: () => 1 });
  /** Used anew by each search. */
  readonly #found: Bits;
  readonly #union: Bits;

  constructor(tests: readonly Searchable[]) {
    const size = tests.length;
    this.#size = size;
    this.#found = noBits(size);
    this.#union = noBits(size);
    // A word cannot contain a line end, so none matches across two fields.
    this.#texts = tests.map((test) =>
      foldCase([test.suite, test.name, test.file, test.class].join("\n"))
    );
    this.#trigrams = size < MIN_TESTS_FOR_TRIGRAMS ? null : this.#indexTrigrams();
    this.#firstSeen = new DayIndex(size, (position) => tests[position]!.firstDisruptionAt);
    this.#lastSeen = new DayIndex(
      size,
      (position) => tests[position]!.latestDisruption?.recordedAt ?? null,
    );
    for (const [position, { tags }] of tests.entries()) {
      for (const tag of tags) this.#add(this.#tags, foldCase(tag), position);
    }
  }

  /** The positions of the tests for which every term of a query holds; of use until the next search. */
  find(query: Query): Bits {
    const found = setAll(this.#found, this.#size);
    // Words last: what the others leave need not be searched for them.
    for (const term of query.terms) this.#keepListed(found, term);
    for (const term of query.terms) if (term.kind === "text") this.#keepWord(found, term.text);
    return found;
  }

  /** What days and tags leave; words leave all. */
  #keepListed(candidates: Bits, term: Term): void {
    switch (term.kind) {
      case "first-seen":
        return this.#firstSeen.keep(candidates, { ...term, day: parseDay(term.day)! });
      case "last-seen":
        return this.#lastSeen.keep(candidates, { ...term, day: parseDay(term.day)! });
      case "tags":
        return this.#keepAny(candidates, term.tags.map((tag) => this.#tags.get(tag)));
    }
  }

  #keepWord(candidates: Bits, word: string): void {
    const known = this.#words.find(word);
    if (known) return keepCommon(candidates, known);
    const possible = this.#possible(word);
    const possibleCount = countBits(possible);
    keepCommon(candidates, possible);
    const isWorthKeeping = possibleCount >= MIN_TESTS_FOR_TRIGRAMS &&
      word.length <= MAX_KEPT_WORD_CHARACTERS && 2 * countBits(candidates) >= possibleCount;
    if (!isWorthKeeping) {
      this.#dropWithout(candidates, word);
    } else {
      // As dear as what is asked for, at most twice, and free for the next who asks.
      const having = possible.slice();
      this.#dropWithout(having, word);
      this.#words.put(word, having);
      keepCommon(candidates, having);
    }
  }

  /** Those that have all of a word's groups of three letters; of use until the next call. */
  #possible(word: string): Bits {
    const possible = setAll(this.#union, this.#size);
    for (let at = 0; this.#trigrams && at + 2 < word.length; at++) {
      keepCommon(possible, this.#trigrams[trigramSet(word, at)]!);
    }
    return possible;
  }

  #dropWithout(candidates: Bits, word: string): void {
    forEachNumber(candidates, (position) => {
      if (!this.#texts[position]!.includes(word)) dropBit(candidates, position);
    });
  }

  #keepAny(candidates: Bits, sets: (number[] | undefined)[]): void {
    const union = this.#union.fill(0);
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
