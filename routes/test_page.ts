/** A page of a list of tests: the part that both lists have in common. */
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import type { HandlerResult } from "../lib/http/request/route.ts";
import type { IsListed, ListQuery, TestCollection } from "../lib/http/request/test_collection.ts";
import { offsetMetadata } from "./schemas.ts";

/** Returns the JSON value of a test. Must be the same function for the same fields. */
export type TestView = (test: TrackedTest) => unknown;

/**
 * The JSON of each test as it was shown last. A search that no request sent before costs as much to
 * serialize as to find without it: 2 us a test.
 */
const texts = new WeakMap<TrackedTest, { view: TestView; text: string }>();

/** Lists the tests of a page, each as `view` shows it. */
export function testPage(
  tests: TestCollection,
  query: Omit<ListQuery, "isListed">,
  { isListed, view }: { isListed: IsListed; view: TestView },
): HandlerResult {
  const page = tests.list({ ...query, isListed });
  const metadata = offsetMetadata(query, page.count);
  const items = page.tests.map((test) => textOf(test, view)).join();
  return {
    body: `{"count":${page.count},"tests":[${items}],"metadata":${JSON.stringify(metadata)}}\n`,
    nextCursor: metadata.after,
  };
}

function textOf(test: TrackedTest, view: TestView): string {
  const known = texts.get(test);
  if (known?.view === view) return known.text;
  const text = JSON.stringify(view(test));
  texts.set(test, { view, text });
  return text;
}
