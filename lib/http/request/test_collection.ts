import { sortTests, type TestOrder } from "../../analysis/order.ts";
import type { TrackedTest } from "../../analysis/tracked_test.ts";
import {
  addBit,
  type Bits,
  countBits,
  forEachNumber,
  noBits,
  numbersOf,
  type Query,
  SearchIndex,
} from "../../query/mod.ts";

/** Whether a list has a test; it says the same of a test whenever it is asked. */
export type IsListed = (test: TrackedTest) => boolean;

/** What is looked for: some of the tests of a list that match a query, in an order. */
export interface Wanted {
  /** Remembered, so that it must be one of few functions. */
  isListed: IsListed;
  sort: TestOrder;
  q: Query;
  /** Matching tests before those that are wanted. */
  after: number;
  limit: number;
}

/** Tests that were found. */
export interface Found {
  /** All that match. */
  count: number;
  /** Those that are wanted. */
  tests: readonly TrackedTest[];
}

/** Tests of a list, in an order. */
interface Listing {
  tests: readonly TrackedTest[];
  /** By position among all tests: place in the list, -1 for those that it has not. */
  places: Int32Array;
  /** Places of the tests that match; used anew by each search. */
  found: Bits;
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

  /** Finds tests of a list. */
  find({ isListed, sort, q, after, limit }: Wanted): Found {
    const listing = this.#listing(isListed, sort);
    const { tests } = listing;
    if (q.terms.length === 0) {
      return { count: tests.length, tests: tests.slice(after, after + limit) };
    }
    this.#index ??= new SearchIndex(this.tests);
    const found = placesOf(this.#index.find(q), listing);
    return {
      count: countBits(found),
      tests: numbersOf(found, { after, limit }).map((place) => tests[place]!),
    };
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
    return {
      tests,
      places: Int32Array.from(this.tests, (test) => placeOf.get(test) ?? -1),
      found: noBits(tests.length),
    };
  }
}

/** Places in a list of positions among all tests. */
function placesOf(positions: Bits, { places, found }: Listing): Bits {
  found.fill(0);
  forEachNumber(positions, (position) => {
    const place = places[position]!;
    if (place >= 0) addBit(found, place);
  });
  return found;
}
