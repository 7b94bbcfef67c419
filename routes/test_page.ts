/** A page of a list of tests: what both lists have in common. */
import type { TestOrder } from "../lib/analysis/order.ts";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { encodeOffsetCursor } from "../lib/cursor.ts";
import { jsonBody } from "../lib/http/json.ts";
import type { Answer } from "../lib/http/route.ts";
import type { IsListed, TestList } from "../lib/http/test_list.ts";
import type { Query } from "../lib/query/mod.ts";

/** What the parameters of a list say. */
export interface TestPage {
  limit: number;
  /** Tests before the page. */
  after: number;
  sort: TestOrder;
  q: Query;
}

/** Answers the page of those tests of the list that match, each as `view` makes it look. */
export function answerTestPage(
  tests: TestList,
  { page, isListed, view }: {
    page: TestPage;
    isListed: IsListed;
    view: (test: TrackedTest) => unknown;
  },
): Answer {
  const { limit, after, sort, q } = page;
  const found = tests.listing(sort, isListed).find(q);
  const end = after + limit;
  const nextCursor = end < found.length ? encodeOffsetCursor(end) : null;
  return {
    body: jsonBody({
      count: found.length,
      tests: found.slice(after, end).map(view),
      metadata: { after: nextCursor, limit },
    }),
    nextCursor,
  };
}
