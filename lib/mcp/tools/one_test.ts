// Tests: tests/lib/mcp/server_test.ts
/** Tools about one test. */
import * as v from "valibot";
import { ownersOf } from "../../analysis/test_tags.ts";
import { shortCommit } from "../../base/commit.ts";
import { plural } from "../../base/text.ts";
import { repairProof, sayNotRun } from "../../evidence/history_said.ts";
import {
  body,
  defineTool,
  described,
  idArgument,
  integer,
  narrowingArgument,
  testEntries,
  timestamp,
} from "./tool.ts";

const input = { test_id: idArgument("an id from find_flaky_tests") };

const events = v.array(v.object({
  id: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  conclusion: v.string(),
  recorded_at: timestamp,
  message: v.string(),
}));

export const getTestHistory = defineTool({
  name: "get_test_history",
  description:
    "The latest disruptions of one test, newest first, at most 10 of 14 days: does it fail the same way " +
    "each time, and since when? Next: get_test_details",
  input,
  output: { test_id: v.string(), count: integer(""), events },
  page: ({ test_id }) => ["tests", test_id.toLowerCase()],
  async run({ test_id }, get) {
    const path = ["api", "tests", test_id, "results"];
    const history = v.object({ results: events });
    const { results } = await get({ path, notFound: unknownTest(test_id) }, history);
    return { test_id, count: results.length, events: results };
  },
});

const MAX_GROUPS = 5;
const MAX_BRANCHES = 10;
const MAX_RUNS = 10;

const test = v.object({
  id: v.string(),
  repository: v.string(),
  ...testEntries,
  tags: v.array(v.string()),
  is_quarantined: v.boolean(),
  quarantine_reason: v.nullable(v.string()),
  quarantine_owner: v.nullable(v.string()),
  quarantine_expires_at: v.nullable(v.string()),
  quarantine_environment: described(v.nullable(v.string()), "null: all"),
  disruptiveness_ratio: v.number(),
  nondeterministic_negative_result_count: integer(""),
  nondeterminism_first_recorded_at: v.nullable(v.string()),
  pass_rate: v.nullable(v.number()),
  avg_duration_ms: v.nullable(v.number()),
});

const group = v.object({
  fingerprint: v.string(),
  message: v.string(),
  body,
  count: integer(""),
  disruption_count: integer(""),
  first_recorded_at: timestamp,
  last_recorded_at: timestamp,
  branches: v.array(v.string()),
  latest_build_url: v.string(),
  latest_commit_oid: v.string(),
});

const runs = v.array(v.object({
  recorded_at: timestamp,
  build_url: v.string(),
  commit_oid: v.string(),
  tree_oid: v.string(),
  branch: v.string(),
}));

export const getTestDetails = defineTool({
  name: "get_test_details",
  description:
    "One test, flaky or not: its failures by cause with stack traces, the commits and builds " +
    "where it failed and passed, its time, owners and quarantine",
  input,
  output: {
    test,
    owners: v.array(v.string()),
    failures: described(
      v.array(group),
      `By cause, the ${MAX_GROUPS} largest`,
    ),
    failure_group_count: integer(""),
    failed_runs: described(runs, `The latest ${MAX_RUNS}`),
    passed_runs: described(runs, `The latest ${MAX_RUNS}`),
  },
  page: ({ test_id }) => ["tests", test_id.toLowerCase()],
  async run({ test_id }, get) {
    const path = ["api", "tests", test_id];
    const notFound = unknownTest(test_id);
    const runsOf = (conclusion: string) => {
      const query = { conclusion, limit: MAX_RUNS };
      return get({ path: [...path, "runs"], query, notFound }, v.object({ runs }));
    };
    const failures = v.object({ count: v.number(), failures: v.array(group) });
    const [found, groups, failed, passed] = await Promise.all([
      get({ path, notFound }, test),
      get({ path: [...path, "failures"], notFound }, failures),
      runsOf("failed"),
      runsOf("passed"),
    ]);
    return {
      test: found,
      owners: ownersOf(found.tags),
      failures: groups.failures.slice(0, MAX_GROUPS)
        .map((group) => ({ ...group, branches: group.branches.slice(0, MAX_BRANCHES) })),
      failure_group_count: groups.count,
      failed_runs: failed.runs,
      passed_runs: passed.runs,
    };
  },
});

const version = v.object({
  commit_oid: v.string(),
  tree_oid: v.string(),
  recorded_at: timestamp,
});

const outcomes = { runs: integer(""), failures: integer("") };

const evidence = {
  state: v.string(),
  environment: v.string(),
  ...outcomes,
  rate: v.nullable(v.number()),
  failing_runs: v.nullable(v.record(v.string(), v.unknown())),
  rate_low: v.number(),
  rate_high: v.number(),
  segments: described(
    v.array(v.object({ ...outcomes, rate: v.number(), from: version, to: version })),
    "Oldest first",
  ),
  since: described(
    v.nullable(v.object({ from: version, to: version, changes: integer("") })),
    "Start of the last",
  ),
  calm: v.nullable(v.object({
    passes: integer("Since the last failure or commit"),
    by_chance: described(v.nullable(v.number()), "null: failed again"),
    passes_needed: integer("To prove it"),
  })),
  not_run_since: described(v.array(v.string()), "Environments where it is not proved"),
  passes_elsewhere: integer("They prove nothing"),
  stopped: v.nullable(v.record(v.string(), v.unknown())),
  first_disruption: v.nullable(v.record(v.string(), v.unknown())),
};

const found = v.object(evidence);

export const getTestEvidence = defineTool({
  name: "get_test_evidence",
  description:
    "One test on the base branch: broken, flaky, healthy or new, since which changes, and if it is " +
    "repaired",
  input: {
    ...input,
    since: narrowingArgument("since", "Commit that repairs it"),
    environment: narrowingArgument("environment"),
  },
  output: { ...evidence, next_step: v.string() },
  page: ({ test_id }) => ["tests", test_id.toLowerCase()],
  async run({ test_id, ...query }, get) {
    const { since, environment } = query;
    const place = environment === undefined ? "" : ` in "${environment}"`;
    const answer = await get({
      path: ["api", "tests", test_id, "evidence"],
      query,
      notFound: since === undefined
        ? unknownTest(test_id)
        : `No run of the commit "${since}" on the base branch${place} is stored, or no test ` +
          `"${test_id}" is known to the organization of this token. Ask without since first.`,
    }, found);
    return { ...answer, next_step: nextStep(answer, since) };
  },
});

/** Whether a commit is proved to have repaired the test, as the command `evidence` says it, and what is left to do. */
function nextStep(
  { environment, runs, segments, calm, not_run_since: notRunSince }: v.InferOutput<typeof found>,
  commitOid: string | undefined,
): string {
  const there = environment && ` in ${environment}`;
  if (runs === 0) return `The test has no run on the base branch${there}.`;
  if (commitOid === undefined || calm === null) {
    return "After a repair, ask again with its commit as since.";
  }
  const place = `since ${shortCommit(commitOid)}${there}`;
  const { passes, by_chance: byChance, passes_needed: passesNeeded } = calm;
  const proof = repairProof({ passes, byChance, passesNeeded });
  if (proof === "failed again") return `Not repaired: it failed again ${place}.`;
  const passed = `${plural(passes, "pass", "passes")} ${place}`;
  // However often it passes, it has not been repaired.
  if (segments.every(({ failures }) => failures === 0)) {
    return `${passed}, and no failure before: nothing to repair.`;
  }
  const counted = `${passed}, ${passesNeeded} needed`;
  const notRun = sayNotRun({ notRunSince }, { commitOid });
  const elsewhere = notRun && ` ${notRun}: run it there, unless that is no longer used.`;
  if (proof !== "enough") return `Not proved: ${counted}. Run it again.${elsewhere}`;
  return elsewhere ? `${counted}: enough there.${elsewhere}` : `${counted}: repaired.`;
}

function unknownTest(testId: string): string {
  return `No test "${testId}" is known to the organization of this token. Test ids come from ` +
    "find_flaky_tests (field id of each test): call it first, and copy the whole id.";
}
