/**
 * Matching a query against tests. Everything that depends on the test alone is done once, so that
 * a query costs a substring search per word and test.
 */
import type { TrackedTest } from "../analysis/tracked_test.ts";
import { dayOf } from "../timestamp.ts";
import { foldCase } from "./fold.ts";
import type { DayOperator, Query, Term } from "./parse.ts";

/** What a query looks at in a test. */
export interface Searchable {
  /** Suite, name, file and class, folded, one per line. */
  text: string;
  /** Day (UTC) of the first disruption as `YYYY-MM-DD`, `null` when there was none. */
  firstSeenDay: string | null;
  /** Day (UTC) of the latest disruption as `YYYY-MM-DD`, `null` when there was none. */
  lastSeenDay: string | null;
  /** Folded. */
  tags: string[];
}

/** Prepares a test for any number of queries. */
export function prepare(
  test: Pick<
    TrackedTest,
    "suite" | "name" | "file" | "class" | "tags" | "firstDisruptionAt" | "latestDisruption"
  >,
): Searchable {
  return {
    // A word cannot contain a line end, so none matches across two fields.
    text: foldCase([test.suite, test.name, test.file, test.class].join("\n")),
    firstSeenDay: test.firstDisruptionAt === null ? null : dayOf(test.firstDisruptionAt),
    lastSeenDay: test.latestDisruption === null ? null : dayOf(test.latestDisruption.recordedAt),
    tags: test.tags.map(foldCase),
  };
}

/** True when every term of the query holds for the test; a query without terms matches all. */
export function matches(query: Query, test: Searchable): boolean {
  return query.terms.every((term) => holds(term, test));
}

function holds(term: Term, test: Searchable): boolean {
  switch (term.kind) {
    case "first-seen":
      return compareDay(test.firstSeenDay, term.operator, term.day);
    case "last-seen":
      return compareDay(test.lastSeenDay, term.operator, term.day);
    case "tags":
      return term.tags.some((tag) => test.tags.includes(tag));
    case "text":
      return test.text.includes(term.text);
  }
}

/** Days of one length sort as texts just as they do in the calendar. */
function compareDay(day: string | null, operator: DayOperator, wanted: string): boolean {
  if (day === null) return false;
  switch (operator) {
    case "<":
      return day < wanted;
    case "<=":
      return day <= wanted;
    case ">":
      return day > wanted;
    case ">=":
      return day >= wanted;
    case "=":
      return day === wanted;
  }
}
