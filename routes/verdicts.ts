import * as v from "valibot";
import { loadTestsOnBase, type TestOnBase } from "../db/read/verdicts.ts";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { DEFAULT_BASE, NOT_NEW_VERDICTS, verdictOf } from "../lib/analysis/verdict.ts";
import { parseShortTestId } from "../lib/base/identity.ts";
import { quote } from "../lib/base/quote.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import { MAX_FILTER_CHARACTERS, parsePatterns } from "../lib/query/submission_filter.ts";
import * as schemas from "./schemas.ts";
import * as views from "./response_parts.ts";

const testsParameter = parameters.parsed(
  parseTests,
  "Comma-separated ids of tests, or the last 13 digits of each, which depend on suite, class, name " +
    `and file alone. At most ${parameters.MAX_LIMIT}`,
  {
    jsonSchema: { type: "string", pattern: "^ *[0-9a-fA-F]{13}([0-9a-fA-F]{11})? *(,.*)?$" },
    example: "5f3a9c0e7b12d4a86f01c2e3",
    required: true,
  },
);

const baseParameter = parameters.parsed(
  (text) => parsePatterns(text.trim() === "" ? DEFAULT_BASE : text),
  `Comma-separated branches, as in branch, for the verdict known: "${DEFAULT_BASE}" by default`,
  {
    jsonSchema: { type: "string", maxLength: MAX_FILTER_CHARACTERS, default: DEFAULT_BASE },
    example: "main,release/*",
  },
);

const verdictSchema = schemas.object("TestVerdict", {
  ...schemas.test,
  verdict: schemas.described(
    v.picklist(NOT_NEW_VERDICTS),
    "The first that applies: quarantined; flaky: a disruption in the last 14 days; known: it " +
      "also failed in the last 14 days on the base branch",
  ),
  disruptiveness_ratio: schemas.ratio,
  recent_nondeterministic_negative_result: schemas.nullable(
    schemas.negativeResult,
    "The latest disruption",
  ),
  recent_base_negative_result: schemas.nullable(
    schemas.negativeResult,
    "The latest failure of the last 14 days on the base branch",
  ),
});

export const verdicts = defineJsonRoute({
  path: "/api/repos/:owner/:name/verdicts",
  operationId: "getVerdicts",
  tag: "Repositories",
  summary: "Verdicts on failed tests",
  description:
    "For each of the given tests, whether its failure is already known. Tests that are missing from the " +
    "response are new failures.",
  query: { tests: testsParameter, base: baseParameter },
  schema: schemas.object("TestVerdicts", { tests: v.array(verdictSchema) }),
  resource: "repository in path",
  async handler({ load, loadTests, query: { tests: wanted, base } }) {
    const testHashes = [...new Set(wanted.map(({ testHash }) => testHash))];
    const [{ tests }, { tests: tracked }] = await Promise.all([
      load(loadTestsOnBase, { testHashes, base }),
      loadTests(),
    ]);
    const shown = tests.filter(({ id }) => wanted.some(({ text }) => id.endsWith(text)))
      .sort((a, b) => a.id < b.id ? -1 : 1);
    return {
      tests: withVerdicts(shown, tracked).flatMap(({ known, verdict, failure, ...test }) => {
        // Left out because `prune` deletes tests without recent results, which must not change a response.
        if (verdict === "new") return [];
        const latest = known?.latestDisruption ?? null;
        return {
          ...test,
          verdict,
          disruptiveness_ratio: known ? views.ratio(known) : 0,
          recent_nondeterministic_negative_result: latest && views.negativeResult(latest),
          recent_base_negative_result: failure && views.negativeResult(failure),
        };
      }),
    };
  },
});

/** Adds to each test its verdict, and as `known` its entry in the lists if it is tracked. */
export function withVerdicts(tests: readonly TestOnBase[], tracked: readonly TrackedTest[]) {
  const trackedById = new Map(tracked.map((test) => [test.id, test]));
  return tests.map((test) => {
    const known = trackedById.get(test.id);
    const verdict = verdictOf(known, test.failure !== null);
    return { ...test, known, verdict };
  });
}

/** @throws {SyntaxError | RangeError} when an id is invalid, or there are none or too many */
function parseTests(list: string): { text: string; testHash: number }[] {
  const ids = list.split(",").map((id) => id.trim().toLowerCase()).filter((id) => id !== "");
  if (ids.length === 0 || ids.length > parameters.MAX_LIMIT) {
    throw new RangeError(`found ${ids.length} ids: expected 1 to ${parameters.MAX_LIMIT}`);
  }
  return ids.map((text) => {
    const testHash = parseShortTestId(text);
    if (testHash !== null) return { text, testHash };
    throw new SyntaxError(`invalid test id ${quote(text)}: expected 24 or 13 hex digits`);
  });
}
