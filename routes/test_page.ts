/** A page of a list of tests: what both lists have in common. */
import type { TestOrder } from "../lib/analysis/order.ts";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { encodeOffsetCursor } from "../lib/base/cursor.ts";
import type { Answer } from "../lib/http/request/route.ts";
import type { IsListed, TestList } from "../lib/http/request/test_collection.ts";
import type { Query } from "../lib/query/mod.ts";

/** What the parameters of a list say. */
export interface TestPage {
  limit: number;
  /** Tests before the page. */
  after: number;
  sort: TestOrder;
  q: Query;
}

/** What a list shows of a test. The same function for the same fields: what it makes is kept. */
export type TestView = (test: TrackedTest) => unknown;

/** The text of a test as it was shown last; tests do not change, so it stays right. */
const shownTexts = new WeakMap<TrackedTest, { view: TestView; text: string }>();

/** Answers the page of those tests of the list that match, each as `view` makes it look. */
export function answerTestPage(
  tests: TestList,
  { page, isListed, view }: { page: TestPage; isListed: IsListed; view: TestView },
): Answer {
  const { after, limit } = page;
  const found = tests.find({ isListed, ...page });
  const end = after + limit;
  const nextCursor = end < found.count ? encodeOffsetCursor(end) : null;
  let texts = "";
  for (const test of found.tests) texts += (texts && ",") + textOf(test, view);
  const metadata = JSON.stringify({ after: nextCursor, limit });
  return {
    body: `{"count":${found.count},"tests":[${texts}],"metadata":${metadata}}\n`,
    nextCursor,
  };
}

function textOf(test: TrackedTest, view: TestView): string {
  const shown = shownTexts.get(test);
  if (shown?.view === view) return shown.text;
  const text = JSON.stringify(view(test));
  shownTexts.set(test, { view, text });
  return text;
}
