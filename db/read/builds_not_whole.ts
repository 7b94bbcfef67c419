// Tests: tests/routes/build_outcome_test.ts
import { buildKey } from "../../lib/analysis/build_costs.ts";
import { BUILD_COLUMNS, unclearTests } from "../../lib/analysis/build_outcome.ts";
import { recordedAtOf } from "../../lib/base/identity.ts";
import { SECONDS_PER_DAY } from "../../lib/base/time.ts";
import { missingAnnounced } from "../../lib/gate/announced_shards.ts";
import { idsIn, type Queryable } from "../connection/sql.ts";
import { isOfBuild } from "./fragments.ts";
import { loadRuns } from "./runs.ts";

/** An upload of a build in a list. */
type Upload = Parameters<typeof buildKey>[0];

type Shard = Upload & Parameters<typeof missingAnnounced>[0][number];

/** What the row of an upload says. */
type Row = Shard & { isUnclear: boolean };

/**
 * The keys of the builds in which the outcome of a test is unknown at last, or of which a shard is missing that the
 * names of others announce. What the base branch tells of a build is said on its own page only.
 */
export async function loadBuildsNotWhole(
  tx: Queryable,
  { repositoryId, uploads }: { repositoryId: number; uploads: readonly Upload[] },
): Promise<ReadonlySet<string>> {
  // Only tests without an attempt that passed, failed or was skipped are in none of the counts.
  const isUnclear = tx`coalesce(s.ran_test_count + s.skipped_test_count < l.test_count, false)`;
  const rows = await tx<Row[]>`
    select encode(s.submission_id, 'hex') as "submissionId", s.build_url as "buildUrl",
      s.environment, s.job, s.workflow, s.shard, s.attempt, ${isUnclear} as "isUnclear"
    from submission s
    left join test_list l on l.repository_id = s.repository_id and l.test_list_no = s.test_list_no
    where s.repository_id = ${repositoryId} and s.submission_id = any(${idsIn(tx, idsOf(uploads))})
      and (${isUnclear} or s.shard like '%/%')`;
  const [withMissing, unclear] = await Promise.all([
    buildsWithMissingShards(tx, { repositoryId, rows }),
    unclearBuilds(tx, { repositoryId, uploads, rows }),
  ]);
  return new Set([...withMissing, ...unclear]);
}

/** The keys of the builds of which a shard is missing that the names of others announce. */
async function buildsWithMissingShards(
  tx: Queryable,
  { repositoryId, rows }: { repositoryId: number; rows: readonly Row[] },
): Promise<string[]> {
  const incomplete = (uploads: readonly Shard[]) =>
    [...Map.groupBy(uploads, ({ buildUrl }) => buildUrl)]
      .filter(([url, ofBuild]) => url !== "" && missingAnnounced(ofBuild, []).length > 0)
      .map(([url]) => url);
  const urls = incomplete(rows);
  if (urls.length === 0) return [];
  // A list may end within a build. Older uploads with its URL are those of another one.
  const columns = [...BUILD_COLUMNS];
  const all = await loadRuns(tx, { repositoryId, columns, where: isOfBuild(tx, urls) });
  const latest = new Map(urls.map((url) => [url, 0]));
  for (const { buildUrl, submissionId } of rows) {
    const at = recordedAtOf(submissionId);
    if (at > (latest.get(buildUrl) ?? at)) latest.set(buildUrl, at);
  }
  return incomplete(
    all.filter(({ buildUrl, submissionId }) =>
      recordedAtOf(submissionId) >= latest.get(buildUrl)! - SECONDS_PER_DAY
    ),
  );
}

/** The keys of the builds in which the outcome of a test is unknown at last. */
async function unclearBuilds(
  tx: Queryable,
  { repositoryId, uploads, rows }: {
    repositoryId: number;
    uploads: readonly Upload[];
    rows: readonly Row[];
  },
): Promise<string[]> {
  const keys = new Set(rows.filter(({ isUnclear }) => isUnclear).map(buildKey));
  if (keys.size === 0) return [];
  const runs = await loadRuns(tx, {
    repositoryId,
    columns: [...BUILD_COLUMNS, "results"],
    submissionIds: idsOf(uploads.filter((upload) => keys.has(buildKey(upload)))),
  });
  const builds = Map.groupBy(runs, buildKey);
  return [...keys].filter((key) => unclearTests(builds.get(key)!).length > 0);
}

function idsOf(uploads: readonly Upload[]): string[] {
  return uploads.map(({ submissionId }) => submissionId);
}
