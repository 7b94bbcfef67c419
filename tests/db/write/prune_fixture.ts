/** What tests of pruning share: histories of months, all that the API says, and what must hold. */
import assert from "node:assert/strict";
import type { Database } from "../../../db/connection/connect.ts";
import { checkTruthCounts } from "../truth_counts.ts";
import { decodeTestList } from "../../../lib/analysis/columns.ts";
import { textIdOf } from "../../lib/analysis/text_ids.ts";
import { ownerTags } from "../../../lib/analysis/test_tags.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { parseCodeowners } from "../../../lib/report/codeowners.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { loadTexts } from "../../../db/read/texts.ts";
import { commitSubmission } from "../../commit_submission.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Random } from "../../../tools/measure/bench/random.ts";
import { DAY, type Fixture, idOf, NOW } from "../../routes/fixture.ts";

const OWNERS = parseCodeowners("*.a @team-a\n*.b @team-b\n");
const TAGS = ["smoke", "nightly", "slow"];

/** Names of tests that come and go, so that some are in old submissions only. */
const TEST_COUNT = 40;

/** A moment within the last hundred days or so: old, in the window, or just at an edge. */
function randomMoment(random: Random): number {
  const edges = [14 * DAY, 14 * DAY + 1, 30 * DAY, 30 * DAY + 1, 60];
  return random.below(5) === 0
    ? NOW - edges[random.below(edges.length)]!
    : NOW - random.below(100 * DAY);
}

/** Uploads a random submission, of few code versions so that many are shared. */
export async function randomUpload(
  { sql }: Database,
  repository: Repository,
  random: Random,
  recordedAt = randomMoment(random),
) {
  // Which tests run goes with the time: the oldest of them have long been removed.
  const age = Math.max(0, (NOW - recordedAt) / (100 * DAY));
  const first = Math.floor((1 - age) * (TEST_COUNT - 8));
  const builder = new SubmissionBuilder();
  for (let i = 0; i < 1 + random.below(6); i++) {
    const test = first + random.below(8);
    const attempts = 1 + random.below(2);
    for (let attempt = 0; attempt < attempts; attempt++) builder.add(result(test, random));
  }
  const content = builder.finish();
  const tree = random.below(3) === 0 ? random.below(12) : null;
  return await commitSubmission(sql, {
    repositoryId: repository.repositoryId,
    commitOid: `c0ffee${random.below(60)}`,
    treeOid: tree === null ? null : `t${tree}`,
    branch: null,
    buildUrl: random.below(3) === 0 ? "" : `https://ci/${random.below(1_000)}`,
    tags: TAGS.filter(() => random.below(6) === 0),
    testTags: random.below(2) === 0 ? ownerTags(content, OWNERS) : null,
    recordedAt,
    uploadedAt: NOW,
    reportDigest: random.hex(64),
    content,
    coverage: random.below(4) === 0
      ? { coveredLineCount: random.below(100), lineCount: 100 }
      : null,
  });
}

function result(test: number, random: Random): TestResult {
  const outcome = random.below(10);
  return {
    ...identity(test),
    conclusion: outcome < 3 ? "failure" : outcome === 3 ? "skipped" : "passing",
    durationMicroseconds: random.below(1_000) * 1_000,
    message: outcome < 3 ? `failed ${random.below(30)}` : "",
    body: outcome < 3 ? `trace ${random.below(3)}\n  at line ${random.below(50)}` : "",
  };
}

function identity(test: number) {
  return { suite: "s", class: "C", name: `test ${test}`, file: `${test}.${"abc"[test % 3]}` };
}

/** Ids of all tests that random uploads may have. */
export function randomTestIds(repository: Repository): string[] {
  return Array.from({ length: TEST_COUNT }, (_, test) => idOf(repository, identity(test)));
}

const INCLUDES = "disruptiveness_ratio,nondeterministic_negative_result_count," +
  "nondeterminism_first_recorded_at,recent_nondeterministic_commit_oid," +
  "recent_nondeterministic_negative_result,recent_nondeterministic_positive_result,tags," +
  "quarantine_date,quarantined_by,quarantine_type,time_consumed";

/** Everything that the API says of repositories, as it is sent: status and body by path. */
export async function allAnswers(
  { get }: Pick<Fixture, "get">,
  repositories: Repository[],
): Promise<Record<string, string>> {
  const paths = ["true", "false"].map((quarantine) =>
    `/api/v1/flaky/tests?limit=100&quarantine=${quarantine}&include=${INCLUDES}`
  );
  for (const { owner, name } of repositories) {
    paths.push(
      `/api/repos/${owner}/${name}/submissions?limit=100`,
      `/api/repos/${owner}/${name}/tests?limit=100`,
      `/api/repos/${owner}/${name}/tests?limit=100&sort=recency&q=tags:smoke,@team-a`,
      `/api/v1/flaky/tests?limit=100&repository=${owner}/${name}&include=${INCLUDES}`,
      `/api/v1/flaky/badges?repository=${owner}/${name}`,
      `/api/v1/coverage/badges?repository=${owner}/${name}`,
    );
  }
  const answers: Record<string, string> = {};
  const ids = new Set<string>();
  for (const path of paths) {
    answers[path] = await answer(get, path);
    for (const [, id] of answers[path].matchAll(/"id":"([0-9a-f]{24})"/g)) ids.add(id!);
  }
  for (const id of ids) {
    answers[`/api/tests/${id}/results`] = await answer(get, `/api/tests/${id}/results`);
  }
  return answers;
}

async function answer(get: Fixture["get"], path: string): Promise<string> {
  const response = await get(path);
  return [response.status, await response.text()].join("\n");
}

/** What was stored of repositories besides results, and must outlive them. */
export async function lastingFacts({ sql }: Pick<Database, "sql">): Promise<unknown> {
  const disruptive = await sql`
    select d.*, t.test_hash from disruptive_test d join test t using (repository_id, test_no)
    order by repository_id, test_no`;
  const quarantined = await sql`
    select q.*, t.test_hash, t.suite, t.class, t.name, t.file, array_to_string(array(
        select tag from test_tag g
        where g.repository_id = t.repository_id and g.tests @> t.test_no order by tag), ',') as tags
    from quarantine q join test t using (repository_id, test_no)
    order by repository_id, test_no`;
  const coverage = await sql`
    select distinct on (repository_id) * from coverage_report
    order by repository_id, coverage_report_id desc`;
  return { disruptive, quarantined, coverage };
}

/** Asserts that all that is stored fits together, and that no submission is there in part. */
export async function assertWhole({ sql }: Pick<Database, "sql">): Promise<void> {
  await checkTruthCounts({ sql });
  const [dangling] = await sql<Record<string, number>[]>`
    select
      (select count(*) from negative_result n where not exists (select from submission s
        where (s.repository_id, s.submission_id) = (n.repository_id, n.submission_id)))::int
        as "negatives without a submission",
      (select count(*) from submission s where status = 'processed' and not exists (
        select from test_list l
        where (l.repository_id, l.test_list_no) = (s.repository_id, s.test_list_no)))::int
        as "submissions without a list",
      (select count(*) from submission s where test_tag_digest is not null and not exists (
        select from test_tag_set t
        where (t.repository_id, t.digest) = (s.repository_id, s.test_tag_digest)))::int
        as "submissions without their set of tags",
      (select count(*) from disruptive_test d where not exists (select from test t
        where (t.repository_id, t.test_no) = (d.repository_id, d.test_no)))::int
        as "disruptive tests without a name",
      (select count(*) from quarantine q where not exists (select from test t
        where (t.repository_id, t.test_no) = (q.repository_id, q.test_no)))::int
        as "quarantined tests without a name",
      (select count(*) from negative_result n where is_disruption and not exists (
        select from disruptive_test d
        where (d.repository_id, d.test_no) = (n.repository_id, n.test_no)))::int
        as "disruptions of tests that are not disruptive",
      (select count(*) from negative_result n where not exists (select from failure_text f
        where (f.repository_id, f.text_id) = (n.repository_id, n.text_id)))::int
        as "negatives without a text"`;
  for (const [what, count] of Object.entries(dangling!)) assert.equal(count, 0, what);

  const texts = await sql<{ repositoryId: number; textId: string }[]>`
    select repository_id::float8 as "repositoryId", encode(text_id, 'hex') as "textId"
    from failure_text`;
  for (const [repositoryId, own] of Map.groupBy(texts, (text) => text.repositoryId)) {
    const textIds = own.map(({ textId }) => textId);
    const found = await loadTexts(sql, { repositoryId, textIds });
    for (const textId of textIds) assert.equal(textIdOf(found.get(textId)!), textId);
  }

  const tests = await sql<{ id: string }[]>`
    select repository_id || ' ' || test_no as id from test`;
  const known = new Set(tests.map(({ id }) => id));
  const lists = await sql<{ id: string; count: number; tests: Uint8Array }[]>`
    select repository_id::text as id, test_count as count, tests from test_list`;
  for (const { id, count, tests } of lists) {
    for (const testNo of decodeTestList(tests, count)) {
      assert.ok(known.has(`${id} ${testNo}`), `test ${testNo} of a list is there`);
    }
  }
}

/** Asserts that nothing is stored that a deletion should have taken along. */
export async function assertNothingLeftOver({ sql }: Pick<Database, "sql">): Promise<void> {
  const texts = await sql`
    select from failure_text f
    where not exists (select from negative_result n
        where (n.repository_id, n.text_id) = (f.repository_id, f.text_id))`;
  assert.equal(texts.length, 0, "texts that no failure has");
}
