import type { DataVersion } from "../../lib/base/data_version.ts";
import type { BranchFilter } from "../../lib/query/branches.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";

/** Mode of a transaction whose statements must see the same data. */
export const SNAPSHOT = "isolation level repeatable read read only";

/** SQL: the week of the row `n` of `negative_result`, as its index by test has it. */
export function weekOfNegative(sql: Queryable) {
  return sql`get_byte(n.submission_id, 0) * 32 + get_byte(n.submission_id, 1) / 8`;
}

/**
 * SQL: whether the row `n` of `negative_result`, a failure of a given test, has at least this id.
 * The index is searched by week; the id filters the first week.
 */
export function isRecordedSince(sql: Queryable, firstId: string) {
  const week = Math.floor(parseInt(firstId.slice(0, 4), 16) / 8);
  return sql`(${weekOfNegative(sql)}) >= ${week}::int
    and n.submission_id >= decode(${firstId}, 'hex')`;
}

/** SQL: whether the row `s` of `submission` is on one of the branches. */
export function isOnBranch(sql: Queryable, branches: BranchFilter) {
  if (branches === null) return sql`true`;
  const patterns = branches
    // Stored text has neither NUL nor unpaired surrogates.
    .filter((pattern) => !pattern.includes("\0") && pattern.isWellFormed())
    .map((pattern) => pattern.replaceAll(/[\\%_]/g, "\\$&").replaceAll("*", "%"));
  return sql`s.branch like any(${textsIn(sql, patterns)})`;
}

/** SQL: the key of the build of the row `s` of `submission`. */
export function buildKeyOf(sql: Queryable) {
  return sql`case s.build_url when '' then 'id:' || encode(s.submission_id, 'hex')
    else 'url:' || s.build_url end`;
}

/** SQL: the columns of a `DataVersion` from `repository_state` r. */
export function versionColumns(sql: Queryable) {
  return sql`r.data_version::float8 as "dataVersion"`;
}

/**
 * A repository, `[]` when it is gone; the first statement of a transaction that reads more of it.
 * It makes the server plan for the parameters: a generic plan knows neither window nor frequencies.
 */
export function selectRepository(sql: Queryable, repositoryId: number) {
  return sql<(DataVersion & { idPrefix: number })[]>`
    select ${versionColumns(sql)}, r.id_prefix::float8 as "idPrefix"
    from repository_state r
    where r.repository_id = ${repositoryId}
      and set_config('plan_cache_mode', 'force_custom_plan', true) is not null`;
}

/** SQL: whether the row `q` of `quarantine` has not ended at a moment, in seconds since 1970. */
export function isActive(sql: Queryable, now: number) {
  return sql`(q.quarantine_expires_at > to_timestamp(${now}::float8)) is not false`;
}

/** SQL: the columns of a `Quarantine` from `quarantine` q. */
export function quarantineColumns(sql: Queryable) {
  return sql`extract(epoch from q.quarantined_at)::float8 as "quarantinedAt",
    q.quarantined_by as "quarantinedBy", q.quarantine_type as "quarantineType",
    q.quarantine_reason as "quarantineReason", q.quarantine_owner as "quarantineOwner",
    extract(epoch from q.quarantine_expires_at)::float8 as "quarantineExpiresAt"`;
}
