import * as v from "valibot";
import { loadCauses } from "../db/read/causes.ts";
import { type Job, loadJobRuns, loadOutageRuns } from "../db/read/job_runs.ts";
import { loadTestsOnBase, type TestOnBase } from "../db/read/verdicts.ts";
import type { TrackedTest } from "../lib/analysis/tracked_test.ts";
import { medianOf } from "../lib/analysis/test_counts.ts";
import { DEFAULT_BASE, NOT_NEW_VERDICTS, verdictOf } from "../lib/analysis/verdict.ts";
import { parseShortTestId, parseTestId } from "../lib/base/identity.ts";
import { jsonRecord } from "../lib/base/json_record.ts";
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
  causes: schemas.described(
    v.array(schemas.fingerprint),
    "What a quarantined test is known for: fingerprints of all failures in its disruptions that are " +
      "stored, however old, and of the latest 500 also those by the present rules; sorted",
  ),
});

const outageRunSchema = schemas.object("OutageRun", {
  submission_id: schemas.described(schemas.objectId, "Id of the submission"),
  recorded_at: schemas.timestamp,
  build_url: schemas.buildUrl,
  branch: schemas.branch,
  environment: schemas.environment,
  job: schemas.job,
  failed_test_count: schemas.count("Tests that failed at least once"),
  ran_test_count: schemas.count("Tests that passed or failed at least once"),
});

const OUTAGE_SECONDS = 2 * 3600;
const MAX_OUTAGE_RUNS = 10;
/** Fewer say nothing about how many tests the job has. */
const MIN_JOB_RUNS = 3;

/** A parameter that describes the run whose failures are asked about. */
function ofRun(what: string, example: string) {
  return parameters.text(`${what} of the run, as it is uploaded`, {
    jsonSchema: { type: "string" },
    example,
  });
}

export const verdicts = defineJsonRoute({
  path: "/api/repos/:owner/:name/verdicts",
  operationId: "getVerdicts",
  tag: "Repositories",
  summary: "Verdicts on failed tests",
  description:
    "For each of the given tests, whether its failure is already known. Tests that are missing from the " +
    "response are new failures.",
  query: {
    tests: testsParameter,
    base: baseParameter,
    run_job: ofRun("Job", "test"),
    run_environment: ofRun("Environment", "Linux-X64"),
    run_shard: ofRun("Shard", "2/4"),
  },
  schema: schemas.object("TestVerdicts", {
    tests: v.array(verdictSchema),
    expected_test_count: schemas.nullable(
      schemas.count("Tests"),
      "Median number of tests that ran in the last 10 submissions of this job, environment and " +
        "shard on the base branch, of at least 3",
    ),
    base_test_counts: schemas.described(
      v.array(schemas.count("Tests")),
      "The numbers of tests that ran in these submissions, newest first",
    ),
    expected_skipped_count: schemas.nullable(
      schemas.count("Tests"),
      "Median number of tests that were skipped in them",
    ),
    outage: schemas.nullable(
      schemas.object("Outage", { runs: v.array(outageRunSchema) }),
      "The latest 10 submissions of the last two hours in which more than 20 % of at least 20 tests " +
        "failed",
    ),
  }),
  resource: "repository in path",
  isOfThisSecond: true,
  async handler({ load, loadTests, now, query: { tests: wanted, base, ...of } }) {
    const testHashes = [...new Set(wanted.map(({ testHash }) => testHash))];
    const job = jobOf(of);
    const [tests, { tests: tracked }, causes, runs, outages] = await Promise.all([
      load(loadTestsOnBase, { testHashes, base }),
      loadTests(),
      load(loadCauses, { testHashes }),
      load(loadJobRuns, { ...job, base }),
      load(loadOutageRuns, { since: now - OUTAGE_SECONDS, limit: MAX_OUTAGE_RUNS }),
    ]);
    const counts = runs.map(({ ranTestCount }) => ranTestCount);
    const isKnown = runs.length >= MIN_JOB_RUNS;
    const isWanted = (id: string) => wanted.some(({ text }) => id.endsWith(text));
    const shown = tests.filter(({ id, aliasId }) =>
      isWanted(id) || aliasId !== null && isWanted(aliasId)
    ).sort((a, b) => a.id < b.id ? -1 : 1);
    return {
      tests: withVerdicts(shown, tracked).flatMap((one) => {
        const { known, verdict, failure, aliasId: _, ...test } = one;
        // Left out because `prune` deletes tests without recent results, which must not change a response.
        if (verdict === "new") return [];
        const latest = known?.latestDisruption ?? null;
        return {
          ...test,
          verdict,
          disruptiveness_ratio: known ? views.ratio(known) : 0,
          recent_nondeterministic_negative_result: latest && views.negativeResult(latest),
          recent_base_negative_result: failure && views.negativeResult(failure),
          causes: causes.get(parseTestId(test.id)!.testHash) ?? [],
        };
      }),
      expected_test_count: isKnown ? medianOf(counts) : null,
      base_test_counts: counts,
      expected_skipped_count: isKnown
        ? medianOf(runs.map(({ skippedTestCount }) => skippedTestCount))
        : null,
      outage: outages.length > 0 ? { runs: outages.map((one) => jsonRecord(one)) } : null,
    };
  },
});

/** The job of a run, one without a name when it cannot be stored: stored text has no NUL. */
function jobOf(given: { run_job?: string; run_environment?: string; run_shard?: string }): Job {
  const { run_job: job = "", run_environment: environment = "", run_shard: shard = "" } = given;
  const isStorable = ![job, environment, shard].some((text) => text.includes("\0"));
  return isStorable ? { job, environment, shard } : { job: "", environment: "", shard: "" };
}

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
