/**
 * Finds the tests that match a query. Each term filters what the terms before it left; a Bloom filter
 * of trigrams spares most tests a search of their text.
 */
import { LRUCache } from "lru-cache";
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { parseDay, SECONDS_PER_DAY } from "../base/time.ts";
import { foldCase, type SeenTerm, type Term } from "./parse.ts";

// 512 bits a test: 150 trigrams set a quarter of them, and a word of seven letters passes the filter
// of one in a thousand tests that do not contain it.
const FILTER_WORDS = 16;

// Words such as "test" are in most texts, and searched for again and again: a byte a test each. With
// 2,000 tests such a query takes 66 µs of CPU time instead of 200, the mix of the benchmark 40 instead of 49.
const MAX_CACHED_WORDS = 64;
const MIN_CACHED_SHARE = 0.25;

/** Tests prepared for many queries. */
export class TestSearch {
  /** Suite, name, file and class of each test, folded, one per line. */
  readonly #texts: string[];
  /** Bloom filters of the trigrams of the texts. */
  readonly #filters: Uint32Array;
  /** Days since 1970, NaN for none: it compares with nothing. */
  readonly #firstSeen: Float64Array;
  readonly #lastSeen: Float64Array;
  /** The folded tags of each test. */
  readonly #tags: readonly string[][];
  /** For frequent words, whether each text contains them. */
  readonly #words = new LRUCache<string, Uint8Array>({ max: MAX_CACHED_WORDS });

  constructor(tests: readonly TrackedTest[]) {
    // A word of a query contains no line end, so that none matches across two fields.
    this.#texts = tests.map((test) =>
      foldCase([test.suite, test.name, test.file, test.class].join("\n"))
    );
    this.#firstSeen = Float64Array.from(tests, (test) => dayOf(test.firstDisruptionAt));
    this.#lastSeen = Float64Array.from(tests, (test) => dayOf(test.latestDisruption?.recordedAt));
    this.#filters = new Uint32Array(tests.length * FILTER_WORDS);
    this.#tags = tests.map(({ tags }) => tags.map(foldCase));
    for (const [position, text] of this.#texts.entries()) {
      const start = position * FILTER_WORDS;
      addTrigrams(this.#filters.subarray(start, start + FILTER_WORDS), text);
    }
  }

  /** The positions, in their order, whose tests match all terms. */
  find(terms: readonly Term[], positions: readonly number[]): readonly number[] {
    const words = terms.flatMap((term) => term.kind === "text" ? [term.text] : []);
    let found = words.length > 0 ? this.#maybeWith(words, positions) : positions;
    for (const term of terms) {
      if (term.kind === "tags") found = this.#withTag(term.tags, found);
      else if (term.kind !== "text") found = this.#seen(term, found);
    }
    for (const word of words) found = this.#with(word, found);
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

  /** The positions whose filters have all trigrams of all words. */
  #maybeWith(words: readonly string[], positions: readonly number[]): readonly number[] {
    const needed = new Uint32Array(FILTER_WORDS);
    for (const word of words) addTrigrams(needed, word);
    const filters = this.#filters;
    return positions.filter((position) => {
      const filter = position * FILTER_WORDS;
      for (let word = 0; word < FILTER_WORDS; word++) {
        if ((~filters[filter + word]! & needed[word]!) !== 0) return false;
      }
      return true;
    });
  }

  #with(word: string, positions: readonly number[]): readonly number[] {
    const texts = this.#texts;
    let contains = this.#words.get(word);
    if (!contains) {
      const found = positions.filter((position) => texts[position]!.includes(word));
      if (found.length < texts.length * MIN_CACHED_SHARE) return found;
      contains = Uint8Array.from(texts, (text) => text.includes(word) ? 1 : 0);
      this.#words.set(word, contains);
    }
    return positions.filter((position) => contains[position] === 1);
  }
}

function dayOf(moment: number | null | undefined): number {
  return moment === null || moment === undefined ? NaN : Math.floor(moment / SECONDS_PER_DAY);
}

/** Sets the bit of each three neighbouring UTF-16 units of a text. */
function addTrigrams(filter: Uint32Array, text: string): void {
  for (let at = 0; at + 2 < text.length; at++) {
    const mixed = text.charCodeAt(at) * 0x1f35 + text.charCodeAt(at + 1) * 0x2a1 +
      text.charCodeAt(at + 2) * 0x1d;
    const hash = mixed ^ (mixed >>> 9);
    filter[(hash >>> 5) & (FILTER_WORDS - 1)]! |= 1 << (hash & 31);
  }
}
