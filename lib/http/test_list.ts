import { sortTests, type TestOrder } from "../analysis/order.ts";
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { type Query, SearchIndex } from "../query/mod.ts";

/** Whether a list has a test; it says the same of a test whenever it is asked. */
export type IsListed = (test: TrackedTest) => boolean;

/**
 * Tests that do not change, from which lists are made. What a list is asked for again and again
 * (its order, what queries look at) is made when it is first asked for, and stays.
 */
export class TestList {
  readonly tests: readonly TrackedTest[];
  readonly #sorted = new Map<TestOrder, readonly TrackedTest[]>();
  readonly #listings = new Map<IsListed, Map<TestOrder, Listing>>();

  constructor(tests: readonly TrackedTest[]) {
    this.tests = tests;
  }

  /** The tests that a list has, in an order of `sort`. `isListed` is remembered: not one of many. */
  listing(order: TestOrder, isListed: IsListed): Listing {
    let listings = this.#listings.get(isListed);
    if (!listings) this.#listings.set(isListed, listings = new Map());
    let listing = listings.get(order);
    if (!listing) {
      listings.set(order, listing = new Listing(this.#in(order).filter(isListed)));
    }
    return listing;
  }

  #in(order: TestOrder): readonly TrackedTest[] {
    let sorted = this.#sorted.get(order);
    if (!sorted) this.#sorted.set(order, sorted = sortTests(this.tests, order));
    return sorted;
  }
}

/** Tests of a list, in its order. */
export class Listing {
  readonly #tests: readonly TrackedTest[];
  #index: SearchIndex | null = null;

  constructor(tests: readonly TrackedTest[]) {
    this.#tests = tests;
  }

  /** Those that match a query, in the same order. */
  find(query: Query): readonly TrackedTest[] {
    if (query.terms.length === 0) return this.#tests;
    this.#index ??= new SearchIndex(this.#tests);
    return this.#index.find(query).map((position) => this.#tests[position]!);
  }
}
