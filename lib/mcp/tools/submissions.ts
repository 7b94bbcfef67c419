// Tests: tests/lib/mcp/server_test.ts
/** Tools about the CI runs of a repository, and what failed in them. */
import * as v from "valibot";
import { ATTEMPT_STATUSES } from "../../analysis/attempts.ts";
import { failureCause, fingerprint } from "../../analysis/failure_groups.ts";
import {
  body,
  defineTool,
  DELETED_RUN,
  described,
  type Get,
  idArgument,
  integer,
  loadOwners,
  narrowingArgument,
  nextCursor,
  numberArgument,
  page,
  pageArguments,
  repositoryPath,
  testEntries,
  timestamp,
  unknownRepository,
} from "./tool.ts";

const submission = v.object({
  id: v.string(),
  key: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  branch: v.string(),
  recorded_at: timestamp,
  status: described(v.string(), "processed, processing or failed"),
  test_result_count: integer("All attempts"),
});
const submissionsPage = page({ submissions: v.array(submission) });

const attempt = v.object({
  test_case_id: v.string(),
  ...testEntries,
  conclusion: v.string(),
  duration_us: integer(""),
  message: v.nullable(v.string()),
  body: v.nullable(body),
  run_count: integer("2 and more: retries"),
  is_disruption: v.boolean(),
});
const attemptsPage = page({ tests: v.array(attempt) });

export const listRecentSubmissions = defineTool({
  name: "list_recent_submissions",
  description:
    "CI runs of a repository that uploaded results in 14 days, newest first: do results arrive, for which " +
    "commits and builds? Next: get_submission_test_results",
  input: { repository: repositoryPath, ...pageArguments(10) },
  output: {
    owner: v.string(),
    name: v.string(),
    count: integer(""),
    submissions: v.array(submission),
    next_cursor: nextCursor,
  },
  page: ({ repository: { owner, name } }) => ["repos", owner, name, "builds"],
  async run({ repository: { owner, name }, ...query }, get) {
    const path = ["api", "repos", owner, name, "submissions"];
    const notFound = unknownRepository(`${owner}/${name}`);
    return { owner, name, ...await get({ path, query, notFound }, submissionsPage) };
  },
});

export const getSubmissionTestResults = defineTool({
  name: "get_submission_test_results",
  description:
    "What failed in one CI run, one item per attempt, with messages and stack traces, shorter the more items. " +
    "Next: get_test_details with a test_case_id",
  input: {
    repository: repositoryPath,
    submission_id: idArgument("an id of list_recent_submissions"),
    status: v.optional(
      described(v.picklist(ATTEMPT_STATUSES), "failed: failure or error"),
      "failed",
    ),
    ...pageArguments(10),
  },
  output: {
    submission_id: v.string(),
    count: integer(""),
    tests: v.array(attempt),
    next_cursor: nextCursor,
  },
  page: ({ repository: { owner, name }, submission_id }) => [
    "repos",
    owner,
    name,
    "builds",
    submission_id,
  ],
  async run({ repository: { owner, name }, submission_id, ...query }, get) {
    const found = await get({
      path: ["api", "repos", owner, name, "submissions", submission_id, "tests"],
      query,
      notFound: `No submission "${submission_id}" is known in "${owner}/${name}". Ids come from ` +
        "list_recent_submissions: call it first, with the same repository.",
    }, attemptsPage);
    return { submission_id, ...found };
  },
});

const MAX_SUBMISSIONS = 50;
const MAX_GROUPS = 15;
const MAX_TESTS = 5;
/** Attempts that are read of one submission: the largest page. */
const MAX_ATTEMPTS = 100;

/** A submission in the list of those that were read: what leads to its build. */
const readSubmission = v.object({
  id: v.string(),
  build_url: v.string(),
  commit_oid: v.string(),
  branch: v.string(),
  recorded_at: timestamp,
  failed_count: integer(""),
});

const group = v.object({
  fingerprint: v.string(),
  message: v.string(),
  body,
  count: integer(""),
  disruption_count: integer("Of flaky tests"),
  submission_count: integer(""),
  test_count: integer(""),
  tests: described(v.array(v.object({ id: v.string(), ...testEntries })), `${MAX_TESTS} at most`),
  owners: v.array(v.string()),
  latest_build_url: v.string(),
  latest_commit_oid: v.string(),
});

export const getRecentFailures = defineTool({
  name: "get_recent_failures",
  description:
    "What failed in the latest CI runs of a repository, grouped by cause: failures of one message except for " +
    "numbers, times and ids. Next: get_test_details with an id of tests",
  input: {
    repository: repositoryPath,
    submissions: numberArgument(10, MAX_SUBMISSIONS, "How many to read"),
    branch: narrowingArgument("branch", "main,release/*"),
  },
  output: {
    owner: v.string(),
    name: v.string(),
    submissions: v.array(readSubmission),
    groups: described(v.array(group), `The ${MAX_GROUPS} largest, largest first`),
    group_count: integer(""),
    ungrouped_count: integer(`Attempts beyond ${MAX_ATTEMPTS} of a CI run`),
  },
  page: ({ repository: { owner, name } }) => ["repos", owner, name],
  async run({ repository: { owner, name }, submissions: limit, branch }, get) {
    const path = ["api", "repos", owner, name, "submissions"];
    const notFound = unknownRepository(`${owner}/${name}`);
    const latest = await get({ path, query: { limit, branch }, notFound }, submissionsPage);
    // Newest first.
    const read = await Promise.all(latest.submissions.map(async (submission) => {
      const { count, tests } = await get({
        path: [...path, submission.id, "tests"],
        query: { status: "failed", limit: MAX_ATTEMPTS },
        notFound: DELETED_RUN,
      }, attemptsPage);
      return { submission, count, attempts: tests.map((test) => ({ submission, ...test })) };
    }));
    const attempts = read.flatMap(({ attempts }) => attempts);
    const groups = Map.groupBy(attempts, causeOf);
    // Sorting is stable: of equal ones, the one with the latest failure comes first.
    const sorted = [...groups.values()].sort((a, b) => b.length - a.length);
    const shown = sorted.slice(0, MAX_GROUPS).map(groupView);
    const owners = await ownersOfTests(shown.flatMap(({ tests }) => tests), get);
    return {
      owner,
      name,
      submissions: read.map(({ submission, count }) => readView(submission, count)),
      groups: shown.map((group) => ({
        ...group,
        owners: [...new Set(group.tests.flatMap(({ id }) => owners.get(id) ?? []))],
      })),
      group_count: sorted.length,
      ungrouped_count: read.reduce((sum, { count }) => sum + count, 0) - attempts.length,
    };
  },
});

type FailedAttempt = v.InferOutput<typeof attempt> & {
  submission: v.InferOutput<typeof submission>;
};

function readView(
  { id, build_url, commit_oid, branch, recorded_at }: v.InferOutput<typeof submission>,
  failed_count: number,
): v.InferOutput<typeof readSubmission> {
  return { id, build_url, commit_oid, branch, recorded_at, failed_count };
}

/** The owners of tests, by id. */
async function ownersOfTests(
  tests: readonly { id: string }[],
  get: Get,
): Promise<Map<string, string[]>> {
  const ids = [...new Set(tests.map(({ id }) => id))];
  return new Map(
    await Promise.all(ids.map(async (id) => [id, await loadOwners(get, id)] as const)),
  );
}

function causeOf({ message, body, name, class: className }: FailedAttempt): string {
  return failureCause(message ?? "", body ?? "", { name, class: className ?? "" });
}

/** A group of failed attempts, newest first. */
function groupView(attempts: FailedAttempt[]): Omit<v.InferOutput<typeof group>, "owners"> {
  const [latest] = attempts as [FailedAttempt];
  const byTest = [...Map.groupBy(attempts, (one) => one.test_case_id).values()]
    .sort((a, b) => b.length - a.length).map(([one]) => one!);
  return {
    fingerprint: fingerprint(causeOf(latest)),
    message: latest.message ?? "",
    body: latest.body ?? "",
    count: attempts.length,
    disruption_count: attempts.filter(({ is_disruption }) => is_disruption).length,
    submission_count: new Set(attempts.map(({ submission }) => submission.id)).size,
    test_count: byTest.length,
    tests: byTest.slice(0, MAX_TESTS).map((
      { test_case_id: id, name, suite, class: className, file },
    ) => (
      { id, name, suite, class: className, file }
    )),
    latest_build_url: latest.submission.build_url,
    latest_commit_oid: latest.submission.commit_oid,
  };
}
