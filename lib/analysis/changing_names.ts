// Tests: tests/db/write/changing_names_test.ts
/** Names of tests that change with every run: such a test is never seen twice. */
import { quote } from "../base/quote.ts";
import { fullTestName } from "../base/text.ts";
import type { TestIdentity } from "../base/identity.ts";

/** How the note about them begins. */
export const CHANGING_NAMES_NOTE = "names that change:";

/** Fewer new tests are an ordinary change. */
const MIN_NEW_TESTS = 20;

/** Of the tests of a submission; a share below it is an ordinary change as well. */
const MIN_NEW_SHARE = 0.2;

/** Fewer earlier submissions of the job say little about its names. */
export const MIN_EARLIER_SUBMISSIONS = 10;

/** Tests of a submission that are new to its repository. */
export interface NewTests {
  count: number;
  /** The first two. */
  examples: TestIdentity[];
}

/** Whether enough tests of a submission are new for names that change with every run. */
export function mayChange({ count }: NewTests, testCount: number): boolean {
  return count >= MIN_NEW_TESTS && count >= testCount * MIN_NEW_SHARE;
}

/** What the note of a submission says. */
export function changingNamesNote({ count, examples }: NewTests, testCount: number): string {
  const names = examples.map((test) => quote(fullTestName(test))).join(" and ");
  return `${CHANGING_NAMES_NOTE} ${count} of ${testCount} tests are new to the repository, such as ${names}. ` +
    "If their names differ in every run, by an id, a port, a date or a path, none of them is seen twice: " +
    "give the tests or their parameters names that stay the same";
}
