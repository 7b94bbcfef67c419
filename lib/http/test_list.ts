import { sortTests, type TestOrder } from "../analysis/order.ts";
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { addBit, noBits, numbersOf, type Query, SearchIndex } from "../query/mod.ts";

/** Whether a list has a test; it says the same of a test whenever it is asked. */
export type IsListed = (test: TrackedTest) => boolean;

/** Tests of a list, in an order. */
interface Listing {
  tests: readonly TrackedTest[];
  /** By position among all tests: place in the list, -1 for those that it has not. */
  places: Int32Array;
}

/**
 * Tests that do not change, from which lists are made. What a list is asked for again and again
 * (its order, what queries look at) is made when it is first asked for, and stays.
 */
export class TestList {
  readonly tests: readonly TrackedTest[];
  readonly #listings = new Map<IsListed, Map<TestOrder, Listing>>();
  /** One for all lists: it is as large as the tests. */
  #index: SearchIndex | null = null;

  constructor(tests: readonly TrackedTest[]) {
    this.tests = tests;
  }

  /**
   * The tests of a list that match a query, in an order of `sort`. `isListed` is remembered: it
   * must be one of few functions.
   */
  find(
    { isListed, sort, q }: { isListed: IsListed; sort: TestOrder; q: Query },
  ): readonly TrackedTest[] {
    const { tests, places } = this.#listing(isListed, sort);
    if (q.terms.length === 0) return tests;
    this.#index ??= new SearchIndex(this.tests);
    const found = noBits(tests.length);
    for (const position of numbersOf(this.#index.find(q))) {
      const place = places[position]!;
      if (place >= 0) addBit(found, place);
    }
    return numbersOf(found).map((place) => tests[place]!);
  }

  #listing(isListed: IsListed, order: TestOrder): Listing {
    let listings = this.#listings.get(isListed);
    if (!listings) this.#listings.set(isListed, listings = new Map());
    let listing = listings.get(order);
    if (!listing) listings.set(order, listing = this.#makeListing(isListed, order));
    return listing;
  }

  #makeListing(isListed: IsListed, order: TestOrder): Listing {
    const tests = sortTests(this.tests.filter(isListed), order);
    const placeOf = new Map(tests.map((test, place) => [test, place]));
    return { tests, places: Int32Array.from(this.tests, (test) => placeOf.get(test) ?? -1) };
  }
}
