// Tests: tests/lib/http/test_cache/cache_test.ts
import { sortTests, type TestOrder } from "../../analysis/order.ts";
import type { RunCounts } from "../../analysis/run_counts.ts";
import type { TrackedTest } from "../../analysis/tracked_test.ts";
import type { Term } from "../../query/parse.ts";
import { TestSearch } from "../../query/search.ts";

export type IsListed = (test: TrackedTest) => boolean;

/** A page of a list of tests to look up. */
interface ListQuery {
  /** One of a few functions: the sorted list is kept for each. */
  isListed: IsListed;
  sort: TestOrder;
  q: readonly Term[];
  /** Matching tests before the page. */
  after: number;
  limit: number;
}

/** Immutable tests that are listed and searched. Sorted lists and the search are made once. */
export class TestCollection {
  /** Positions of tests, sorted. */
  readonly #lists = new Map<IsListed, Map<TestOrder, readonly number[]>>();
  #search: TestSearch | null = null;

  /** @param runs how often each test of the repository ran, listed or not; `null` for several */
  constructor(readonly tests: readonly TrackedTest[], readonly runs: RunCounts | null = null) {}

  /** Returns a page of the tests that match, and the number of them on all pages. */
  list({ isListed, sort, q, after, limit }: ListQuery) {
    let found = this.#sorted(isListed, sort);
    if (q.length > 0) {
      this.#search ??= new TestSearch(this.tests);
      found = this.#search.find(q, found);
    }
    const page = found.slice(after, after + limit);
    return { count: found.length, tests: page.map((position) => this.tests[position]!) };
  }

  #sorted(isListed: IsListed, order: TestOrder): readonly number[] {
    let lists = this.#lists.get(isListed);
    if (!lists) this.#lists.set(isListed, lists = new Map());
    let list = lists.get(order);
    if (!list) {
      const positions = new Map(this.tests.map((test, position) => [test, position]));
      list = sortTests(this.tests.filter(isListed), order).map((test) => positions.get(test)!);
      lists.set(order, list);
    }
    return list;
  }
}
