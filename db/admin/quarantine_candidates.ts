// Tests: tests/lib/cli/commands/quarantine_test.ts
/** Loads the tests that a quarantine policy decides about, with their histories. */
import {
  massFailures,
  type PolicyHistory,
  type PolicyMoment,
  policyRuns,
  type QuarantinePolicy,
  RETURN_SECONDS,
} from "../../lib/analysis/quarantine_policy.ts";
import {
  activeQuarantine,
  endOfManualEntry,
  type Quarantine,
} from "../../lib/analysis/quarantine.ts";
import { failedWithSubtest } from "../../lib/analysis/subtests.ts";
import { firstSubmissionId, parseTestId, testIdPrefix } from "../../lib/base/identity.ts";
import { arrayOf, integersIn, type Queryable, textsIn } from "../connection/sql.ts";
import { loadBase } from "../read/base_branch.ts";
import { quarantineColumns } from "../read/fragments.ts";
import { planForParameters } from "../read/snapshot.ts";
import { loadRuns } from "../read/runs.ts";
import { selectDisruptionCounts } from "../read/tracked_test_rows.ts";
import { identityColumns, type IdentityRow, type StoredTest, storedTest } from "./quarantine.ts";
import type { Repository } from "./repositories.ts";

export interface PolicyTest extends StoredTest {
  history: PolicyHistory;
}

/**
 * Loads the tests that are automatically quarantined, and those with enough disruptions that are not
 * quarantined, by id; part of a transaction. Without any, as for most uploads, it takes two cheap
 * statements.
 */
export async function loadPolicyTests(
  tx: Queryable,
  repository: Repository,
  policy: QuarantinePolicy,
  { now, windowStart }: PolicyMoment,
): Promise<{ tests: PolicyTest[]; automaticCount: number; baseBranch: string }> {
  const { organizationId, repositoryId } = repository;
  // Plans the following statements for their parameters.
  await planForParameters(tx);
  const windowId = firstSubmissionId(windowStart);
  const selected = await selectTests(tx, repository, policy, { now, windowStart });
  const { entries, entryOf, automatic, candidates, releases } = selected;
  const automaticCount = automatic.length;
  if (automaticCount + candidates.length === 0) {
    return { tests: [], automaticCount, baseBranch: "" };
  }
  const { base, isBaseGuessed } = await loadBase(tx, { repositoryId, now });

  const failures = await loadLastFailures(tx, { repositoryId, testNos: automatic });
  const starts = automatic.map((testNo) =>
    failures.get(testNo) ?? firstSubmissionId(entries.get(testNo)!.quarantinedAt)
  );
  const firstId = [windowId, ...starts].sort()[0]!;
  const runs = await loadRuns(tx, {
    repositoryId,
    columns: ["codeVersion", "branch", "queueBase", "pullNumber", "job", "results"],
    where: tx`s.submission_id >= decode(${firstId}, 'hex')`,
    order: "oldest first",
  });
  const disruptions = await tx<{ submissionId: string; testNo: number }[]>`
    select encode(submission_id, 'hex') as "submissionId", test_no as "testNo"
    from negative_result
    where repository_id = ${repositoryId} and submission_id >= decode(${windowId}, 'hex')
      and is_disruption and test_no = any(${integersIn(tx, [...automatic, ...candidates])})`;
  // After a day of a broken environment, most tests have disruptions that do not count.
  const brokenRuns = massFailures(runs);
  const counting = disruptions.filter(({ submissionId }) => !brokenRuns.has(submissionId));
  const countingOf = Map.groupBy(counting, ({ testNo }) => testNo);
  const hasEnough = (testNo: number) => {
    const own = countingOf.get(testNo) ?? [];
    if (own.length >= policy.disruptions) return true;
    const releasedAt = releases.get(testNo);
    if (releasedAt === undefined) return false;
    const endId = firstSubmissionId(releasedAt + RETURN_SECONDS);
    return own.some(({ submissionId }) => submissionId < endId);
  };
  const testNos = new Set([...automatic, ...candidates.filter(hasEnough)]);
  const testRows = await tx<IdentityRow[]>`
    select ${identityColumns(tx)} from test t
    where t.repository_id = ${repositoryId} and t.test_no = any(${integersIn(tx, testNos)})`;
  const tests = testRows.map((row) => storedTest(repository, row));
  const disrupted = Map.groupBy(counting, ({ submissionId }) => submissionId);
  const historyOf = policyRuns(runs, {
    testNos,
    brokenRuns,
    base,
    isBaseGuessed,
    disrupted: (submissionId) => disrupted.get(submissionId)?.map(({ testNo }) => testNo) ?? [],
  });
  const ambiguous = await loadAmbiguous(tx, { repositoryId, windowId, testNos });
  const parents = await findParents(tx, { repositoryId, windowId, tests });
  const removals = await loadRemovals(tx, { organizationId, testIds: tests.map(({ id }) => id) });
  const found = tests.map((test): PolicyTest => {
    const { id, testNo } = test;
    const quarantine = entryOf(testNo);
    const leftAt = Math.max(removals.get(id) ?? 0, endOfManualEntry(entries.get(testNo), now));
    const isAmbiguous = ambiguous.has(testNo);
    const failsWithSubtests = parents.has(testNo);
    const releasedAt = releases.get(testNo) ?? 0;
    const own = { runs: historyOf.get(testNo)!, quarantine, leftAt, releasedAt };
    return { ...test, history: { ...own, isAmbiguous, failsWithSubtests } };
  });
  return { tests: found.sort((a, b) => a.id < b.id ? -1 : 1), automaticCount, baseBranch: base };
}

/** The tests that a policy may concern: its own entries, and those without an entry that may enter. */
async function selectTests(
  tx: Queryable,
  repository: Repository,
  policy: QuarantinePolicy,
  { now, windowStart }: PolicyMoment,
) {
  const { repositoryId } = repository;
  const rows = await tx<(Quarantine & { testNo: number })[]>`
    select q.test_no as "testNo", ${quarantineColumns(tx)} from quarantine q
    where q.repository_id = ${repositoryId}`;
  const entries = new Map(rows.map(({ testNo, ...entry }) => [testNo, entry]));
  const entryOf = (testNo: number) => activeQuarantine(entries.get(testNo) ?? null, now);
  const automatic = [...entries.keys()].filter((testNo) =>
    entryOf(testNo)?.quarantineType === "automatic"
  );
  const scope = { repositoryIds: arrayOf([repositoryId]), firstId: firstSubmissionId(windowStart) };
  const counts = (await selectDisruptionCounts(tx, scope))
    .filter(({ testNo }) => entryOf(testNo) === null);
  const releases = counts.length === 0
    ? new Map<number, number>()
    : await loadReleases(tx, repository, { since: windowStart - RETURN_SECONDS });
  const candidates = counts.filter((row) =>
    row.disruptionCount >= policy.disruptions || releases.has(row.testNo)
  ).map(({ testNo }) => testNo);
  return { entries, entryOf, automatic, candidates, releases };
}

/** `quarantined_by` of an automatic entry, and the author of its release. */
export const POLICY = "policy";

/** The id of the latest submission in which each test failed, by test_no. */
async function loadLastFailures(
  tx: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: Iterable<number> },
): Promise<Map<number, string>> {
  const rows = await tx<{ testNo: number; id: string }[]>`
    select test_no as "testNo", max(encode(submission_id, 'hex') collate "C") as id
    from negative_result
    where repository_id = ${repositoryId} and test_no = any(${integersIn(tx, testNos)})
    group by test_no`;
  return new Map(rows.map(({ testNo, id }) => [testNo, id]));
}

/** Which tests shared their name with another one in a report of the window. */
async function loadAmbiguous(
  tx: Queryable,
  { repositoryId, windowId, testNos }: {
    repositoryId: number;
    windowId: string;
    testNos: Iterable<number>;
  },
): Promise<Set<number>> {
  const rows = await tx<{ testNo: number }[]>`
    select distinct test_no as "testNo" from submission s, unnest(s.ambiguous_test_nos) as test_no
    where s.repository_id = ${repositoryId} and s.submission_id >= decode(${windowId}, 'hex')
      and test_no = any(${integersIn(tx, testNos)})`;
  return new Set(rows.map(({ testNo }) => testNo));
}

/** When the entries of tests were last removed, by id, in seconds since 1970. */
async function loadRemovals(
  tx: Queryable,
  { organizationId, testIds }: { organizationId: number; testIds: string[] },
): Promise<Map<string, number>> {
  const rows = await tx<{ id: string; at: number }[]>`
    select subject as id, extract(epoch from max(changed_at))::float8 as at from change
    where organization_id = ${organizationId} and subject = any(${textsIn(tx, testIds)})
      and detail->>'quarantine' = 'removed'
    group by subject`;
  return new Map(rows.map(({ id, at }) => [id, at]));
}

/** When the policy last released tests of a repository, by test_no, in seconds since 1970. */
async function loadReleases(
  tx: Queryable,
  { organizationId, repositoryId, idPrefix }: Repository,
  { since }: { since: number },
): Promise<Map<number, number>> {
  const rows = await tx<{ id: string; at: number }[]>`
    select subject as id, extract(epoch from max(changed_at))::float8 as at from change
    where organization_id = ${organizationId} and starts_with(subject, ${testIdPrefix(idPrefix)})
      and detail->>'quarantine' = 'removed' and detail->>'by' = ${POLICY}
      and changed_at >= to_timestamp(${since}::float8)
    group by subject`;
  const moments = new Map(rows.map(({ id, at }) => [parseTestId(id)!.testHash, at]));
  const tests = await tx<{ testNo: number; testHash: number }[]>`
    select t.test_no as "testNo", t.test_hash::float8 as "testHash" from test t
    where t.repository_id = ${repositoryId} and t.test_hash = any(${
    arrayOf([...moments.keys()])
  }::bigint[])`;
  return new Map(tests.map(({ testNo, testHash }) => [testNo, moments.get(testHash)!]));
}

/** The tests that failed in all disruptions of the window only because a subtest did. */
async function findParents(
  tx: Queryable,
  { repositoryId, windowId, tests }: {
    repositoryId: number;
    windowId: string;
    tests: readonly StoredTest[];
  },
): Promise<Set<number>> {
  const subtests = await tx<{ parentNo: number }[]>`
    select distinct p.test_no as "parentNo"
    from test p
    join test t on t.repository_id = p.repository_id and t.suite = p.suite and t.class = p.class
      and t.file = p.file and (starts_with(t.name, p.name || '/') or starts_with(t.name, p.name || ' > '))
    join disruptive_test d on d.repository_id = t.repository_id and d.test_no = t.test_no
      and d.latest_submission_id >= decode(${windowId}, 'hex')
    where p.repository_id = ${repositoryId}
      and p.test_no = any(${integersIn(tx, tests.map(({ testNo }) => testNo))})`;
  const parents = new Set(subtests.map(({ parentNo }) => parentNo));
  if (parents.size === 0) return parents;
  const texts = await tx<{ testNo: number; message: string; body: Uint8Array<ArrayBuffer> }[]>`
    select distinct n.test_no as "testNo", f.message, f.body
    from negative_result n
    join failure_text f on f.repository_id = n.repository_id and f.text_id = n.text_id
    where n.repository_id = ${repositoryId} and n.submission_id >= decode(${windowId}, 'hex')
      and n.is_disruption and n.test_no = any(${integersIn(tx, parents)})`;
  const testOf = new Map(tests.map((test) => [test.testNo, test]));
  for (const { testNo, ...text } of texts) {
    if (!failedWithSubtest(testOf.get(testNo)!, text)) parents.delete(testNo);
  }
  return parents;
}

/**
 * How many tests the policy released, and how many of them failed again within 60 days; those that did not, while
 * their 60 days are not over, are undecided.
 */
export async function countReleases(
  sql: Queryable,
  { organizationId, now }: { organizationId: number; now: number },
  repositories: readonly Repository[],
): Promise<{ released: number; failedAgain: number; undecided: number }> {
  const total = { released: 0, failedAgain: 0, undecided: 0 };
  for (const { repositoryId, idPrefix } of repositories) {
    const rows = await sql<{ id: string; at: number }[]>`
      select subject as id, extract(epoch from changed_at)::float8 as at from change
      where organization_id = ${organizationId} and starts_with(subject, ${testIdPrefix(idPrefix)})
        and detail->>'quarantine' = 'removed' and detail->>'by' = ${POLICY}`;
    const moments = rows.map(({ id, at }) => ({
      hash: parseTestId(id)!.testHash,
      firstId: firstSubmissionId(at),
      endId: firstSubmissionId(at + RETURN_SECONDS),
      isOpen: at + RETURN_SECONDS > now,
    }));
    const [found] = await sql<{ failedAgain: number; undecided: number }[]>`
      select (count(*) filter (where r.has_failed))::int as "failedAgain",
        (count(*) filter (where r.is_open and not r.has_failed))::int as undecided
      from (
        select m."isOpen" as is_open, exists (
          select 1 from negative_result n
          where n.repository_id = ${repositoryId} and n.test_no = t.test_no
            and n.submission_id > decode(m."firstId", 'hex')
            and n.submission_id < decode(m."endId", 'hex')) as has_failed
        from json_to_recordset(${JSON.stringify(moments)}::text::json) as m(
          hash bigint, "firstId" text, "endId" text, "isOpen" boolean)
        join test t on t.repository_id = ${repositoryId} and t.test_hash = m.hash
      ) r`;
    total.released += rows.length;
    total.failedAgain += found!.failedAgain;
    total.undecided += found!.undecided;
  }
  return total;
}
