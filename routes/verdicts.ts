import * as v from "valibot";
import { loadKnownCauses } from "../db/read/causes.ts";
import { loadIsFailedWithoutTest } from "../db/read/evidence_run.ts";
import { loadExpectedPlaces, loadJobRuns, loadMassFailures } from "../db/read/job_runs.ts";
import { type GivenTest, loadJudgedRun } from "../db/read/verdicts.ts";
import { verdictOf, VERDICTS } from "../lib/analysis/verdict.ts";
import { codeVersion } from "../lib/base/commit.ts";
import { isObjectId, parseShortTestId } from "../lib/base/identity.ts";
import { jsonRecord } from "../lib/base/json_record.ts";
import { quote } from "../lib/base/quote.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import { branchNamed } from "../lib/ci/git_ref.ts";
import { parseBases } from "../lib/evidence/base_branch.ts";
import { testedPull } from "../lib/ci/mod.ts";
import { type CauseCount, OUTAGE_SECONDS } from "../lib/evidence/mass_failure.ts";
import { usualCounts } from "../lib/gate/whole_run.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import { MAX_FILTER_CHARACTERS } from "../lib/query/submission_filter.ts";
import * as schemas from "./schemas.ts";
import * as views from "./response_parts.ts";

const testsParameter = parameters.parsed(
  parseTests,
  "Comma-separated tests that failed in the run: the id of each, or the last 13 digits of it, which depend on " +
    "suite, class, name and file alone. After a colon the fingerprints of its causes, separated by dots, and " +
    `\`passed\` if an attempt of it passed. At most ${parameters.MAX_LIMIT}`,
  {
    jsonSchema: { type: "string", pattern: "^ *[0-9a-fA-F]{13}([0-9a-fA-F]{11})? *([:,].*)?$" },
    example: "5f3a9c0e7b12d4a86f01c2e3:9c1d6f02ab37e845",
    required: true,
  },
);

const baseParameter = parameters.parsed(
  parseBases,
  "Comma-separated branches, as in branch, that count as the base branch; the repository's by default",
  {
    jsonSchema: { type: "string", maxLength: MAX_FILTER_CHARACTERS },
    example: "main,release/*",
  },
);

const countOfRun = (what: string, example: string) =>
  parameters.parsed(
    (text) => {
      if (text.trim() === "") return undefined;
      if (!/^\d{1,9}$/.test(text)) {
        throw new RangeError(
          `invalid count ${quote(text)}: expected up to 9 digits`,
        );
      }
      return Number(text);
    },
    what,
    { jsonSchema: { type: "string", pattern: "^[0-9]{1,9}$" }, example },
  );

const causesParameter = parameters.parsed(
  parseCauses,
  "Of a run with more failed tests than fit into `tests`: the causes of all of them, comma-separated, each with " +
    "the number of its tests as in `9c1d6f02ab37e845*30`",
  { jsonSchema: { type: "string" }, example: "9c1d6f02ab37e845*30" },
);

const verdictSchema = schemas.object("TestVerdict", {
  ...schemas.test,
  verdict: schemas.described(
    v.picklist(VERDICTS),
    "The first that applies: quarantined; flaky: a disruption in the last 14 days; known: its latest run on " +
      "the base branch failed, or it failed there in the last 14 days with its causes, in other jobs only if it " +
      "has not passed all of at least 20 runs in this one; new",
  ),
  owners: schemas.described(v.array(v.string()), "Owners of its file, from CODEOWNERS"),
  ...schemas.conclusion,
  share_not_the_change: schemas.nullable(
    schemas.count("Failures"),
    "Of share_of, those that were not the change",
  ),
  base_run_count: schemas.count("Its runs on the base branch, of the last 1,000"),
  base_failed_count: schemas.count(
    "How many of them failed: with a cause of this failure, where the evidence is about causes",
  ),
  evidence_recorded_at: schemas.nullable(schemas.timestamp, "When the run of evidence_url was"),
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

const MAX_OUTAGE_RUNS = 10;

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
    "For each of the given tests, in their order, what is known about its failure: the evidence, whose it " +
    "probably is, and how often that was right. It takes the run as it is uploaded; a run that is stored has " +
    "the evidence of its upload.",
  query: {
    tests: testsParameter,
    base: baseParameter,
    run_submission: parameters.parsed(
      (text) => text === "" ? null : parseSubmissionId(text),
      "Id of its submission, of a run that is stored: the evidence is that of this upload",
      {
        jsonSchema: { type: "string", pattern: "^[0-9a-fA-F]{24}$" },
        example: "697dc80ca1f03b7c5d92e846",
      },
    ),
    run_job: ofRun("Job", "test"),
    run_workflow: ofRun("Workflow or pipeline that has the job", "CI"),
    run_environment: ofRun("Environment", "Linux-X64"),
    run_shard: ofRun("Shard", "2/4"),
    run_attempt: ofRun("Attempt", "1"),
    run_commit: ofRun("Commit", "4f9d1c2"),
    run_tree: ofRun("Tree", "9bd0e1f"),
    run_branch: ofRun("Branch", "fix-cart"),
    run_build_url: ofRun("Build URL", "https://ci.example.com/builds/7"),
    run_queue_base: ofRun("Branch that a merge queue tests for", "main"),
    run_pull_number: ofRun("Number of the pull request", "12"),
    run_test_count: countOfRun("Tests that passed or failed in the run", "482"),
    run_failed_test_count: countOfRun("Tests that failed in the run", "3"),
    run_exit_code: countOfRun("Exit code of the command that ran the tests", "1"),
    run_causes: causesParameter,
    expected_files: parameters.parsed(
      (text) => text !== "" && text !== "false",
      "Any value but false: also the files that are expected in the run",
      { jsonSchema: { type: "string" }, example: "true", acceptsAnyText: true },
    ),
  },
  schema: schemas.object("TestVerdicts", {
    tests: v.array(verdictSchema),
    failed_without_test: schemas.described(
      v.boolean(),
      "Whether the run ended red without a failed test: by run_exit_code, or as it is stored",
    ),
    base_branch: schemas.text(
      'The base branch, "" where no upload of the last 90 days names its branch',
    ),
    mass_failure: schemas.described(
      v.nullable(v.picklist(["outage", "together"])),
      "Of a run in which more than 20 % of at least 20 tests failed. outage: at least half of them have a " +
        "cause of a mass failure that another branch had in the last two hours, since which its job did not run " +
        "without one; on the base branch two other changes, as one may be what was merged; together: this change " +
        "alone; null otherwise",
    ),
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
    expected_files: schemas.nullable(
      v.array(schemas.object("ExpectedFile", {
        file: schemas.text('"" for a class or suite of tests without a file'),
        class: schemas.text('Class of one of its tests; "" for a suite of tests without a class'),
        suite: schemas.text('"" for a file or class'),
      })),
      "With expected_files: the files that ran in each of the last 3 submissions of this job, environment and " +
        "shard on the base branch, the classes of tests without a file, and the suites of tests with neither",
    ),
    outage: schemas.nullable(
      schemas.object("Outage", { runs: v.array(outageRunSchema) }),
      "The latest 10 mass failures of other branches than run_branch in the last two hours, of both kinds",
    ),
  }),
  resource: "repository in path",
  dependsOn: "second",
  async handler({ load, loadTests, now, query: { tests: failures, base: given, ...of } }) {
    const run = runOf(of, failures.length);
    const judged = await load(loadJudgedRun, {
      tests: failures,
      run,
      causeCounts: of.run_causes,
      given: given ?? null,
    });
    const { base } = judged;
    const testHashes = [...new Set(judged.tests.map(({ testHash }) => testHash))];
    const [{ tests: tracked }, causes, runs, expectedFiles, outages, isRed] = await Promise.all([
      loadTests(),
      load(loadKnownCauses, { testHashes }),
      load(loadJobRuns, { ...run, base }),
      of.expected_files ? load(loadExpectedPlaces, { ...run, base }) : null,
      load(loadMassFailures, {
        since: now - OUTAGE_SECONDS,
        limit: MAX_OUTAGE_RUNS,
        notOnBranch: run.branch,
      }),
      of.run_exit_code === undefined
        ? load(loadIsFailedWithoutTest, run)
        : of.run_exit_code !== 0 && run.counts.failed === 0,
    ]);
    const trackedById = new Map(tracked.map((test) => [test.id, test]));
    return {
      tests: judged.tests.map(({ testHash, conclusion, failure, ...test }) => {
        const known = trackedById.get(test.id);
        const latest = known?.latestDisruption ?? null;
        return {
          ...test,
          verdict: verdictOf(known, {
            environment: run.environment,
            hasFailedOnBase: conclusion.isKnownOnBase,
          }),
          ...views.conclusion(conclusion),
          share_not_the_change: conclusion.share && conclusion.share.notTheChange,
          base_run_count: conclusion.baseRunCount,
          base_failed_count: conclusion.baseFailedCount,
          evidence_recorded_at: conclusion.restsOn &&
            formatTimestamp(conclusion.restsOn.recordedAt),
          disruptiveness_ratio: known ? views.ratio(known) : 0,
          recent_nondeterministic_negative_result: latest && views.negativeResult(latest),
          recent_base_negative_result: failure && views.negativeResult(failure),
          causes: causes.get(testHash) ?? [],
        };
      }),
      failed_without_test: isRed,
      base_branch: judged.baseBranch,
      mass_failure: judged.massFailure,
      ...jsonRecord(usualCounts(runs)),
      expected_files: expectedFiles,
      outage: outages.length > 0 ? { runs: outages.map((one) => jsonRecord(one)) } : null,
    };
  },
});

interface GivenRun {
  run_submission: string | null;
  run_job?: string;
  run_workflow?: string;
  run_environment?: string;
  run_shard?: string;
  run_attempt?: string;
  run_commit?: string;
  run_tree?: string;
  run_branch?: string;
  run_build_url?: string;
  run_queue_base?: string;
  run_pull_number?: string;
  run_test_count?: number | undefined;
  run_failed_test_count?: number | undefined;
}

/** The run that is asked about. What cannot be stored, as stored text has no NUL, is unknown. */
function runOf(given: GivenRun, askedCount: number) {
  const text = (value = "") => value.includes("\0") ? "" : value.trim();
  const failed = given.run_failed_test_count ?? askedCount;
  const branch = branchNamed(text(given.run_branch));
  return {
    submissionId: given.run_submission,
    commitOid: text(given.run_commit),
    code: codeVersion({ tree: text(given.run_tree), commit: text(given.run_commit) }),
    job: text(given.run_job),
    workflow: text(given.run_workflow),
    environment: text(given.run_environment),
    shard: text(given.run_shard),
    attempt: text(given.run_attempt),
    branch,
    buildUrl: text(given.run_build_url),
    queueBase: text(given.run_queue_base),
    pullNumber: testedPull(text(given.run_pull_number), branch),
    counts: { ran: given.run_test_count ?? 0, failed },
  };
}

/** @throws {SyntaxError} */
function parseSubmissionId(text: string): string {
  if (isObjectId(text)) return text.toLowerCase();
  throw new SyntaxError(`invalid submission id ${quote(text)}: expected 24 hex digits`);
}

/** @throws {SyntaxError | RangeError} when an id is invalid, or there are none or too many */
function parseTests(list: string): GivenTest[] {
  const elements = list.split(",").map((element) => element.trim().toLowerCase())
    .filter((element) => element !== "");
  if (elements.length === 0 || elements.length > parameters.MAX_LIMIT) {
    throw new RangeError(`found ${elements.length} ids: expected 1 to ${parameters.MAX_LIMIT}`);
  }
  return elements.map((element) => {
    const [id = "", facts = ""] = element.split(":", 2);
    const text = id.trim();
    const testHash = parseShortTestId(text);
    if (testHash === null) {
      throw new SyntaxError(`invalid test id ${quote(text)}: expected 24 or 13 hex digits`);
    }
    const words = facts.split(".").filter((word) => word !== "");
    const causes = words.filter((word) => word !== PASSED);
    return { text, testHash, causes: causes.map(parseCause), hasPassed: words.includes(PASSED) };
  });
}

/** Among the causes of a test: an attempt of it passed. */
const PASSED = "passed";

function parseCause(word: string): string {
  if (/^[0-9a-f]{16}$/.test(word)) return word;
  throw new SyntaxError(`invalid cause ${quote(word)}: expected 16 hex digits`);
}

/** @throws {SyntaxError} */
function parseCauses(list: string): CauseCount[] | undefined {
  const elements = list.split(",").map((one) => one.trim().toLowerCase()).filter((one) =>
    one !== ""
  );
  if (elements.length === 0) return undefined;
  return elements.map((element) => {
    const [causes = "", count = "1"] = element.split("*", 2);
    if (!/^\d{1,9}$/.test(count)) throw new SyntaxError(`invalid count ${quote(count)}`);
    return { causes: causes.split(".").map(parseCause), testCount: Number(count) };
  });
}
