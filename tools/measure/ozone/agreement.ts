/** Whether page, comment and gate say the same of an upload: the gate asks before it, the comment after it. */
import { loadBuildConclusions } from "../../../db/read/conclusions.ts";
import { type GivenTest, loadJudgedRun } from "../../../db/read/verdicts.ts";
import type { Queryable } from "../../../db/connection/sql.ts";
import { failureCause, fingerprint } from "../../../lib/analysis/failure_groups.ts";
import { codeVersion } from "../../../lib/base/commit.ts";
import { shortTestId, testHash } from "../../../lib/base/identity.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import type { Conclusion } from "../../../lib/evidence/said.ts";
import { isNegative } from "../../../lib/report/result.ts";
import type { OzoneUpload } from "./uploads.ts";

/** Of all uploads. */
export const BRANCH = "master";
export const ENVIRONMENT = "Linux-X64";

interface Place {
  repositoryId: number;
  idPrefix: number;
}

/** By test_hash: the evidence for each failure, and its verdict. */
type Said = Map<number, string>;

const say = ({ evidence, blame, share }: Conclusion) =>
  [evidence, blame, share?.notTheChange, share?.of].join(" ");

/** What the gate and the comment say of a run. */
export async function verdictsOn(
  sql: Queryable,
  { repositoryId, idPrefix }: Place,
  { commit, tree, job, url, attempt, recordedAt: now, results }: OzoneUpload,
): Promise<Said> {
  const tests = [...Map.groupBy(results, testHash)].flatMap(([testHash, own]): GivenTest[] => {
    const failed = own.filter(({ conclusion }) => isNegative(conclusion));
    if (failed.length === 0) return [];
    return [{
      text: shortTestId(own[0]!),
      testHash,
      causes: failed.map(({ message, body }) => fingerprint(failureCause(message, body))),
      hasPassed: own.some(({ conclusion }) => conclusion === "passing"),
    }];
  });
  const ran = results.filter(({ conclusion }) =>
    conclusion === "passing" || isNegative(conclusion)
  );
  const { tests: judged } = await loadJudgedRun(sql, {
    repositoryId,
    idPrefix,
    windowStart: now - WINDOW_SECONDS,
    tests,
    run: {
      submissionId: null,
      commitOid: commit,
      code: codeVersion({ tree, commit }),
      job,
      workflow: "",
      environment: ENVIRONMENT,
      shard: "",
      attempt: String(attempt),
      branch: BRANCH,
      buildUrl: url,
      counts: { ran: new Set(ran.map(testHash)).size, failed: tests.length },
    },
    given: null,
    now,
  });
  return new Map(judged.map(({ testHash, conclusion }) => [testHash, say(conclusion)]));
}

/** What the page of the build says of the failures of an upload. */
export async function pageOf(
  sql: Queryable,
  { repositoryId, submissionId, now }: { repositoryId: number; submissionId: string; now: number },
): Promise<Said> {
  const submissionIds = [submissionId];
  const { conclusions } = await loadBuildConclusions(sql, { repositoryId, submissionIds, now });
  const own = conclusions.get(submissionId) ?? new Map();
  const tests = await sql<{ testNo: number; testHash: number }[]>`
    select test_no as "testNo", test_hash::float8 as "testHash" from test
    where repository_id = ${repositoryId}`;
  return new Map(
    tests.flatMap(({ testNo, testHash }) =>
      own.has(testNo) ? [[testHash, say(own.get(testNo))]] : []
    ),
  );
}

/** Whether all say the same. */
export function isSame([first, ...others]: readonly Said[]): boolean {
  return others.every((one) =>
    one.size === first!.size && [...one].every(([test, said]) => first!.get(test) === said)
  );
}
