/**
 * Finds the disruptions of what is stored once more, after the rules of repetition have changed. The reports
 * are gone: the attempts inside of an upload stay as they were read. Pruned disruptions stay as well.
 */
import { isDeepStrictEqual } from "node:util";
import type postgres from "postgres";
import {
  type DisruptiveTest,
  findDisruptions,
  mergeDisruptive,
  type NegativeResult,
  withoutSubmission,
} from "../../lib/analysis/disruptions.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { compareTexts, fullTestName } from "../../lib/base/text.ts";
import { formatTimestamp } from "../../lib/base/time.ts";
import { VERSION } from "../../lib/base/version.ts";
import { type Change, insertChanges } from "./changes.ts";
import type { Queryable } from "../connection/sql.ts";
import { codeVersionOf, hasCodeVersion } from "../read/fragments.ts";
import { loadIdentities } from "../read/names_of_tests.ts";
import { loadVersionRuns } from "../write/disruptions.ts";
import {
  deleteDisruptiveTests,
  loadDisruptiveTests,
  storeDisruptiveTests,
} from "../write/disruptive_tests.ts";
import { loadNegatives, markDisruptions } from "../write/negative_rows.ts";
import { bumpDataVersion, lockRepository } from "../write/repository_row.ts";
import { loadTestFacts } from "../read/test_facts.ts";
import { writeTransaction } from "../write/transaction.ts";

/** The version of the rules; repositories of an earlier one are judged again. */
const RULES = 1;

/** Their runs and failures are in memory at the same time. */
const VERSIONS_AT_ONCE = 20;

/** How far a repository is judged. */
interface JudgeProgress {
  repository: string;
  /** Code versions with failures. */
  judged: number;
  of: number;
}

/** Between two reports of the progress. */
const PROGRESS_MS = 10_000;

/**
 * Judges the repositories that earlier rules have judged, each in a transaction, and adds a line to the log of
 * the organization for each test whose first disruption moved. Returns the number of these lines.
 */
export async function judgeAgain(
  sql: postgres.Sql,
  { onProgress, progressMs = PROGRESS_MS }: {
    onProgress?: (progress: JudgeProgress) => void;
    progressMs?: number;
  } = {},
): Promise<number> {
  let reportedAt = performance.now();
  const report = (progress: JudgeProgress) => {
    if (performance.now() - reportedAt < progressMs) return;
    reportedAt = performance.now();
    onProgress?.(progress);
  };
  const repositories = await sql<{ repositoryId: number }[]>`
    select repository_id::float8 as "repositoryId" from repository_state where rules < ${RULES}
    order by repository_id`;
  if (repositories.length === 0) return 0;
  const [{ now } = { now: 0 }] = await sql<{ now: number }[]>`
    select extract(epoch from date_trunc('second', now()))::float8 as now`;
  const origin = { author: `test-analytics ${VERSION}`, changedAt: now };
  let count = 0;
  for (const { repositoryId } of repositories) {
    count += await writeTransaction(sql, async (tx) => {
      // In a large repository it takes longer than a request may.
      await tx`set local statement_timeout = 0`;
      return await judgeRepository(tx, repositoryId, { origin, report });
    });
  }
  return count;
}

async function judgeRepository(
  tx: Queryable,
  repositoryId: number,
  { origin, report }: {
    origin: Pick<Change, "author" | "changedAt">;
    report(progress: JudgeProgress): void;
  },
): Promise<number> {
  const repository = await lockRepository(tx, repositoryId);
  if (!repository) return 0;
  const marked = new Map<number, MarkedRange>();
  const found = new Map<number, DisruptiveTest>();
  const rows = await tx<{ codeVersion: string }[]>`
    select distinct ${codeVersionOf(tx)} as "codeVersion"
    from submission s
    join negative_result n using (repository_id, submission_id)
    where s.repository_id = ${repositoryId}`;
  const codeVersions = rows.map(({ codeVersion }) => codeVersion);
  for (let at = 0; at < codeVersions.length; at += VERSIONS_AT_ONCE) {
    const some = codeVersions.slice(at, at + VERSIONS_AT_ONCE);
    await judgeVersions(tx, { repositoryId, codeVersions: some, marked, found });
    report({
      repository: `${repository.owner}/${repository.name}`,
      judged: Math.min(at + VERSIONS_AT_ONCE, codeVersions.length),
      of: codeVersions.length,
    });
  }
  const known = await loadDisruptiveTests(tx, { repositoryId });
  const tests = new Map<number, DisruptiveTest | undefined>();
  for (const testNo of new Set([...known.keys(), ...found.keys()])) {
    const test = judged(known.get(testNo), marked.get(testNo), found.get(testNo));
    if (!isDeepStrictEqual(test, known.get(testNo))) tests.set(testNo, test);
  }
  await storeDisruptiveTests(tx, {
    repositoryId,
    tests: [...tests.values()].filter((test) => test !== undefined),
  });
  const gone = tests.keys().filter((testNo) => tests.get(testNo) === undefined);
  await deleteDisruptiveTests(tx, { repositoryId, testNos: gone });
  await tx`
    update repository_state set rules = ${RULES} where repository_id = ${repositoryId}`;
  if (tests.size > 0) await bumpDataVersion(tx, repositoryId);
  const moved = tests.keys()
    .filter((no) => known.get(no)?.firstDisruptionAt !== tests.get(no)?.firstDisruptionAt);
  return await logMoved(tx, { repositoryId, ...repository }, {
    origin,
    known,
    tests,
    moved: [...moved],
  });
}

/** The disruptions of a test that earlier rules had found and that are still stored. */
interface MarkedRange {
  first: NegativeResult;
  latest: NegativeResult;
}

/** Marks the disruptions of some code versions, and adds them to the disruptions of others. */
async function judgeVersions(
  tx: Queryable,
  { repositoryId, codeVersions, marked, found }: {
    repositoryId: number;
    codeVersions: string[];
    marked: Map<number, MarkedRange>;
    found: Map<number, DisruptiveTest>;
  },
): Promise<void> {
  const negatives = await loadNegatives(tx, repositoryId, hasCodeVersion(tx, codeVersions));
  const runs = await loadVersionRuns(tx, { repositoryId, codeVersions });
  const testNos = new Set(negatives.map(({ testNo }) => testNo));
  const facts = await loadTestFacts(tx, { repositoryId, testNos });
  const runsOf = Map.groupBy(runs, ({ codeVersion }) => codeVersion);
  const proved = new Set<NegativeResult>();
  for (const [codeVersion, own] of Map.groupBy(negatives, (one) => one.codeVersion)) {
    for (const { test, disruptions } of findDisruptions(runsOf.get(codeVersion)!, own, facts)) {
      for (const one of disruptions) proved.add(one);
      found.set(test.testNo, mergeDisruptive(found.get(test.testNo), test));
    }
  }
  for (const one of negatives.filter(({ isDisruption }) => isDisruption)) {
    const { first, latest } = marked.get(one.testNo) ?? { first: one, latest: one };
    marked.set(one.testNo, {
      first: isEarlier(one, first) ? one : first,
      latest: isEarlier(latest, one) ? one : latest,
    });
  }
  for (const isDisruption of [true, false]) {
    const changed = negatives.filter((one) =>
      proved.has(one) === isDisruption && one.isDisruption !== isDisruption
    );
    await markDisruptions(tx, { repositoryId, negatives: changed, isDisruption });
  }
}

function isEarlier(a: NegativeResult, b: NegativeResult): boolean {
  return (compareTexts(a.submissionId, b.submissionId) || a.resultNo - b.resultNo) < 0;
}

/** A test as the rules see it now; `undefined` if it is not disruptive. */
function judged(
  known: DisruptiveTest | undefined,
  marked: MarkedRange | undefined,
  found: DisruptiveTest | undefined,
): DisruptiveTest | undefined {
  if (!known) return found;
  const before = marked && {
    ...known,
    firstDisruptionAt: recordedAtOf(marked.first.submissionId),
    latestSubmissionId: marked.latest.submissionId,
    latestResultNo: marked.latest.resultNo,
  };
  return withoutSubmission(known, before, found);
}

/** Adds a line to the log for each test whose first disruption moved. */
async function logMoved(
  tx: Queryable,
  { repositoryId, idPrefix, owner, name }: {
    repositoryId: number;
    idPrefix: number;
    owner: string;
    name: string;
  },
  { origin, known, tests, moved }: {
    origin: Pick<Change, "author" | "changedAt">;
    known: ReadonlyMap<number, DisruptiveTest>;
    tests: ReadonlyMap<number, DisruptiveTest | undefined>;
    moved: number[];
  },
): Promise<number> {
  if (moved.length === 0) return 0;
  const [organization] = await tx<{ organizationId: number }[]>`
    select organization_id as "organizationId" from repository
    where repository_id = ${repositoryId}`;
  const identities = await loadIdentities(tx, { repositoryId, idPrefix, testNos: moved });
  const dayOf = (test: DisruptiveTest | undefined) =>
    test ? formatTimestamp(test.firstDisruptionAt) : null;
  const inOrder = [...identities].sort(([a], [b]) => a - b);
  const changes = inOrder.map(([testNo, { id, ...identity }]): Change => ({
    ...origin,
    command: "migrate",
    subject: id,
    detail: {
      repository: `${owner}/${name}`,
      test: fullTestName(identity),
      reason: "judged again: only a repetition proves flakiness",
      first_disruption_before: dayOf(known.get(testNo)),
      first_disruption: dayOf(tests.get(testNo)),
    },
  }));
  await insertChanges(tx, { ...organization!, changes });
  return changes.length;
}
