import * as v from "valibot";
import { failureCause, fingerprint } from "../../analysis/failure_groups.ts";
import {
  body,
  defineTool,
  described,
  type Get,
  integer,
  MAX_BRANCHES,
  repositoryArguments,
  testEntries,
  timestamp,
  toolInput,
  unknownRepository,
} from "./tool.ts";

const MAX_SUBMISSIONS = 50;
const MAX_GROUPS = 15;
const MAX_TESTS = 5;
/** Attempts that are read of one submission: the largest page. */
const MAX_ATTEMPTS = 100;
const REQUESTS_AT_ONCE = 6;

const input = toolInput({
  ...repositoryArguments,
  submissions: v.optional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(1),
      v.maxValue(MAX_SUBMISSIONS),
      v.description("How many of the latest to read"),
    ),
    10,
  ),
  branch: v.optional(described(v.string(), "Only these: main,release/*")),
});

const submission = v.object({
  id: v.string(),
  recorded_at: timestamp,
  branch: v.string(),
  commit_oid: v.string(),
  build_url: v.string(),
  status: v.string(),
});
type Submission = v.InferOutput<typeof submission>;

const group = v.object({
  fingerprint: described(v.string(), "The same in get_test_details"),
  message: v.string(),
  body,
  count: integer("Failed attempts"),
  disruption_count: integer("Of those, by tests that passed on the same code"),
  submission_count: integer("CI runs"),
  test_count: integer("Tests"),
  tests: described(v.array(v.object({ id: v.string(), ...testEntries })), `${MAX_TESTS} at most`),
  branches: v.array(v.string()),
  latest_build_url: v.string(),
  latest_commit_oid: v.string(),
});

const output = v.object({
  owner: v.string(),
  name: v.string(),
  submissions: v.array(
    v.object({ ...submission.entries, failed_count: integer("Failed attempts") }),
  ),
  groups: described(v.array(group), `The ${MAX_GROUPS} largest, largest first`),
  group_count: integer("Of all causes"),
  ungrouped_count: integer(`Failed attempts after the first ${MAX_ATTEMPTS} of a CI run`),
});

const submissionsPage = v.object({ submissions: v.array(submission) });
const attemptsPage = v.object({
  count: v.number(),
  tests: v.array(v.object({
    test_case_id: v.string(),
    ...testEntries,
    message: v.string(),
    body: v.string(),
    is_disruption: v.boolean(),
  })),
});

export const getRecentFailures = defineTool({
  name: "get_recent_failures",
  title: "Get the recent failures of a repository by cause",
  description:
    "What failed in the latest CI runs of a repository, flaky or not, grouped by cause: failures " +
    "of one message except for numbers, times and ids. One broken service behind forty tests is " +
    "one group. Use it for why CI is red now. Next: get_test_details with an id of tests.",
  input,
  output,
  async run({ owner, name, submissions: limit, branch }, get) {
    const { submissions } = await get({
      path: ["api", "repos", owner, name, "submissions"],
      query: { limit, branch },
      notFound: unknownRepository(`${owner}/${name}`),
    }, submissionsPage);
    // Newest first.
    const read: Awaited<ReturnType<typeof failuresOf>>[] = [];
    for (let at = 0; at < submissions.length; at += REQUESTS_AT_ONCE) {
      const some = submissions.slice(at, at + REQUESTS_AT_ONCE);
      read.push(...await Promise.all(some.map((one) => failuresOf(one, { owner, name, get }))));
    }
    const groups = Map.groupBy(read.flatMap(({ attempts }) => attempts), (one) => one.fingerprint);
    // Sorting is stable: of equal ones, the one with the latest failure comes first.
    const sorted = [...groups.values()].sort((a, b) => b.length - a.length);
    return {
      owner,
      name,
      submissions: read.map(({ submission, count }) => ({ ...submission, failed_count: count })),
      groups: sorted.slice(0, MAX_GROUPS).map(groupView),
      group_count: sorted.length,
      ungrouped_count: read.reduce((sum, { count, attempts }) => sum + count - attempts.length, 0),
    };
  },
});

/** The failed attempts of one submission. */
async function failuresOf(
  submission: Submission,
  { owner, name, get }: { owner: string; name: string; get: Get },
) {
  const { count, tests } = await get({
    path: ["api", "repos", owner, name, "submissions", submission.id, "tests"],
    query: { status: "failed", limit: MAX_ATTEMPTS },
    notFound: "A CI run was deleted while it was read. Call again.",
  }, attemptsPage);
  const attempts = tests.map((
    { test_case_id, suite, class: className, name, file, ...attempt },
  ) => ({
    ...attempt,
    test: { id: test_case_id, name, suite, class: className, file },
    fingerprint: fingerprint(failureCause(attempt.message, attempt.body)),
    submission,
  }));
  return { submission, count, attempts };
}

type Attempt = Awaited<ReturnType<typeof failuresOf>>["attempts"][number];

/** A group of failed attempts, newest first. */
function groupView(attempts: Attempt[]): v.InferOutput<typeof group> {
  const { fingerprint, message, body, submission } = attempts[0]!;
  const byTest = [...Map.groupBy(attempts, ({ test }) => test.id).values()]
    .sort((a, b) => b.length - a.length);
  const branches = new Set(attempts.map(({ submission }) => submission.branch));
  return {
    fingerprint,
    message,
    body,
    count: attempts.length,
    disruption_count: attempts.filter(({ is_disruption }) => is_disruption).length,
    submission_count: new Set(attempts.map(({ submission }) => submission.id)).size,
    test_count: byTest.length,
    tests: byTest.slice(0, MAX_TESTS).map(([attempt]) => attempt!.test),
    branches: [...branches].filter((branch) => branch !== "").slice(0, MAX_BRANCHES),
    latest_build_url: submission.build_url,
    latest_commit_oid: submission.commit_oid,
  };
}
