/** A page of a list of tests: the part that both lists have in common. */
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { jsonBody } from "../lib/http/request/json.ts";
import type { HandlerResult } from "../lib/http/request/route.ts";
import type { ListQuery, TestCollection } from "../lib/http/request/test_collection.ts";
import { offsetMetadata } from "./schemas.ts";

/** Lists the tests of a page, each as `view` shows it. */
export function testPage(
  tests: TestCollection,
  query: ListQuery,
  view: (test: TrackedTest) => unknown,
): HandlerResult {
  const page = tests.list(query);
  const metadata = offsetMetadata(query, page.count);
  return {
    body: jsonBody({ count: page.count, tests: page.tests.map(view), metadata }),
    nextCursor: metadata.after,
  };
}
