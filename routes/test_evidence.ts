/** The history of one test on the base branch: its state, since when, and whether it is calm. */
import * as v from "valibot";
import { loadTestDetails } from "../db/read/details_of_test.ts";
import { loadDisruptedPlaces, loadFirstDisrupted } from "../db/read/runs_of_test.ts";
import { loadTestHistory } from "../db/read/test_evidence.ts";
import { isGitId } from "../lib/base/commit.ts";
import { quote } from "../lib/base/quote.ts";
import { formatTimestamp } from "../lib/base/time.ts";
import { TEST_STATES } from "../lib/evidence/states.ts";
import type { Stopped } from "../lib/evidence/stopped.ts";
import {
  environmentsIn,
  type HistoryVersion,
  type TestEvidence,
  testEvidence,
} from "../lib/evidence/test_evidence.ts";
import type { Patterns } from "../lib/query/submission_filter.ts";
import { badRequest, notFound, RefusedError } from "../lib/http/request/errors.ts";
import * as parameters from "../lib/http/request/parameters.ts";
import { defineJsonRoute } from "../lib/http/request/route.ts";
import * as schemas from "./schemas.ts";

const versionSchema = schemas.object("CodeVersion", {
  commit_oid: schemas.described(schemas.commit, "Commit of its first run"),
  tree_oid: schemas.text('Tree that was tested, "" when it is not known'),
  recorded_at: schemas.described(schemas.timestamp, "Its first run"),
});

/** What makes a test broken although not all runs of its last segment failed. */
export const failingRunsSchema = schemas.nullable(
  schemas.object("FailingRuns", {
    job: schemas.job,
    runs: schemas.count("Its latest runs, which all failed"),
  }),
  "The job that makes it broken if not all runs of the last segment failed",
);

/** Where the last segment began. */
export const changeSchema = schemas.object("SegmentChange", {
  from: schemas.described(versionSchema, "The last code version before the range"),
  to: schemas.described(versionSchema, "The last code version of the range"),
  changes: schemas.count(
    "Code versions after `from`, up to `to`; 0 if code failed that had passed",
  ),
});

const counts = {
  runs: schemas.count("Submissions in which it ran"),
  failures: schemas.count("Of those, with a failed attempt"),
};

const probability = v.pipe(v.number(), v.minValue(0), v.maxValue(1));

/** What is wrong with a commit that is given as the repair of a test; `null` if it may be one. */
export function wrongRepairCommit(text: string): string | null {
  if (text === "" || isGitId(text)) return null;
  return `invalid commit ${quote(text)}: expected 7 to 64 hex digits`;
}

const repairCommit = parameters.parsed(
  (text) => {
    const wrong = wrongRepairCommit(text);
    if (wrong === null) return text.toLowerCase();
    throw new SyntaxError(wrong);
  },
  "A commit that is meant as the repair, whole or abbreviated: calm is about the runs since. 404 when " +
    "it has no run on the base branch, 400 when it is several commits",
  {
    jsonSchema: { type: "string", pattern: "^([0-9a-fA-F]{7,64})?$" },
    example: "9f2c4e1ab07d5836c1e94f0b2d7a6853e0c1f4d9",
  },
);

export const testEvidenceRoute = defineJsonRoute({
  path: "/api/tests/:id/evidence",
  operationId: "getTestEvidence",
  tag: "Tests",
  summary: "State of one test, since when, and whether it is calm",
  description:
    "How the test ran on the base branch, in the environment with its worst state of those where it still runs: " +
    "the last 2,000 runs, without outages. A run failed when any attempt did. With since, the environment is one " +
    "in which the test failed since that commit, or one in which it did not pass often enough.",
  query: { since: repairCommit, environment: parameters.environment },
  schema: schemas.object("TestEvidence", {
    state: schemas.described(
      v.picklist(TEST_STATES),
      "broken: every run of the last segment failed at last, at least 3, or the last 10 of a job; flaky: failures in it, or a " +
        "disruption in the last 14 days; healthy: at least 10 runs; otherwise new",
    ),
    environment: schemas.described(
      schemas.environment,
      'Environment of these runs, "" when it is not known; that of the request if the test has no run there',
    ),
    runs: schemas.count("Runs of the last segment"),
    failures: schemas.count("Runs of the last segment with a failed attempt"),
    rate: schemas.nullable(probability, "failures / runs"),
    failing_runs: failingRunsSchema,
    rate_low: schemas.described(probability, "Start of the 95 % interval of the rate"),
    rate_high: schemas.described(probability, "End of the 95 % interval of the rate"),
    segments: schemas.described(
      v.array(schemas.object("HistorySegment", {
        ...counts,
        rate: schemas.described(probability, "failures / runs"),
        from: schemas.described(versionSchema, "Its first code version"),
        to: schemas.described(versionSchema, "Its last code version"),
      })),
      "Stretches of constant failure rate, oldest first",
    ),
    since: schemas.nullable(
      changeSchema,
      "Where the last segment began, with 99 %",
    ),
    calm: schemas.nullable(
      schemas.object("Calm", {
        passes: schemas.count(
          "Passes since the last failure, or since the commit in since, without those of jobs in which it never failed",
        ),
        by_chance: schemas.described(
          v.nullable(probability),
          "The probability of this many passes for a test that fails as often as before; null when it " +
            "failed since that commit",
        ),
        passes_needed: schemas.count("The fewest passes that happen by chance with at most 5 %"),
      }),
      "What its passes say",
    ),
    not_run_since: schemas.described(
      v.array(v.string()),
      "Environments in which it has not run since the commit in since, although it ran 20 times in another",
    ),
    passes_elsewhere: schemas.count(
      "Passes since the commit in since that prove nothing: in jobs in which it never failed before",
    ),
    stopped: schemas.described(
      v.nullable(schemas.object("StoppedRunning", {
        last_run_at: schemas.timestamp,
        job_runs: schemas.count("Runs of its job since, all without it: at least 20"),
      })),
      "Its last run, if its job goes on without it; null while it runs",
    ),
    first_disruption: schemas.nullable(
      schemas.object("FirstDisruption", {
        recorded_at: schemas.timestamp,
        build_url: schemas.buildUrl,
        commit_oid: schemas.commit,
        branch: schemas.branch,
        author: schemas.text('Author of the commit as CI tells it, "" when it does not'),
        pull_request: schemas.nullable(schemas.count("Number"), "Pull or merge request"),
        pull_request_title: schemas.text('Its title, "" when it is not known'),
      }),
      "Where it was flaky for the first time, in any branch; null when that run is not stored",
    ),
  }),
  resource: "test in path",
  async handler({ load, query: { since: commitOid, environment: environments } }) {
    const [details, disrupted, history, first] = await Promise.all([
      load(loadTestDetails, {}),
      load(loadDisruptedPlaces, {}),
      load(loadTestHistory, { environments, commitOid }),
      load(loadFirstDisrupted, {}),
    ]);
    const { runs, current, repair, wrongCommit } = history;
    if (wrongCommit !== null) throw new RefusedError(badRequest({ since: [wrongCommit] }));
    if (commitOid !== "" && repair === null) throw new RefusedError(notFound());
    const disruptedIn = environmentsIn(disrupted, environments);
    const found = testEvidence(repair ? runs : current, { disruptedIn, repair });
    return evidenceView(found, { details, first, history, environments });
  },
});

/** What the object of the API has beyond the evidence. */
interface Loaded {
  details: { firstDisruptionAt: number | null };
  /** The first disruption that is stored: an earlier one may be pruned. */
  first: Awaited<ReturnType<typeof loadFirstDisrupted>>;
  history: { stopped: Stopped | null };
  /** The patterns of the request; `null` for all. */
  environments: Patterns;
}

function firstDisruptionView({ details: { firstDisruptionAt }, first }: Loaded) {
  return first === null || first.recordedAt !== firstDisruptionAt ? null : {
    recorded_at: formatTimestamp(first.recordedAt),
    build_url: first.buildUrl,
    commit_oid: first.commitOid,
    branch: first.branch,
    author: first.author,
    pull_request: first.pullNumber,
    pull_request_title: first.pullTitle,
  };
}

/** The evidence for a test as the API and the command line show it. */
export function evidenceView(
  { state, environment, since, calm, ...last }: TestEvidence,
  loaded: Loaded,
) {
  const { history: { stopped }, environments } = loaded;
  const hasRun = last.segments.length > 0;
  return {
    state,
    environment: hasRun ? environment : environments?.join(",") ?? "",
    runs: last.runs,
    failures: last.failures,
    rate: last.rate,
    failing_runs: last.failingRuns,
    rate_low: last.rateLow,
    rate_high: last.rateHigh,
    segments: last.segments.map(({ runs, failures, from, to }) => ({
      runs,
      failures,
      rate: failures / runs,
      from: versionView(from),
      to: versionView(to),
    })),
    since: sinceView(since),
    calm: calm && {
      passes: calm.passes,
      by_chance: calm.byChance,
      passes_needed: calm.passesNeeded,
    },
    not_run_since: last.notRunSince,
    passes_elsewhere: last.passesElsewhere,
    stopped: stopped && {
      last_run_at: formatTimestamp(stopped.lastRunAt),
      job_runs: stopped.jobRuns,
    },
    first_disruption: firstDisruptionView(loaded),
  };
}

/** Where the last segment began, as the API shows it. */
export function sinceView(since: TestEvidence["since"]) {
  return since && { ...since, from: versionView(since.from), to: versionView(since.to) };
}

function versionView({ commitOid, treeOid, recordedAt }: HistoryVersion) {
  return {
    commit_oid: commitOid,
    tree_oid: treeOid ?? "",
    recorded_at: formatTimestamp(recordedAt),
  };
}
