/** The quarantine log: the changes of an organization that concern quarantine entries. */
import { type QuarantineEvent, withEnds } from "../../lib/analysis/quarantine_log.ts";
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { formatRepositoryName } from "../../lib/base/repository_name.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";
import { type Change, insertChange } from "./changes.ts";
import type { Repository } from "./repositories.ts";

/** Author and command of a change. */
export type Origin = Pick<Change, "author" | "command">;

/** Logs a change of an entry, in the transaction that makes it. */
export async function logQuarantine(
  tx: Queryable,
  test: TestIdentity & { id: string; repository: Repository },
  { at, action, quarantine, ...origin }: Origin & {
    at: number;
    action: "added" | "changed" | "removed";
    /** After the change, with its author; for a removal with its reason. */
    quarantine: Quarantine;
  },
): Promise<void> {
  const { id, repository, suite, class: className, name, file } = test;
  await insertChange(tx, {
    ...origin,
    organizationId: repository.organizationId,
    changedAt: at,
    subject: id,
    detail: {
      quarantine: action,
      repository: formatRepositoryName(repository),
      suite,
      class: className,
      name,
      file,
      by: quarantine.quarantinedBy,
      type: quarantine.quarantineType,
      reason: quarantine.quarantineReason,
      owner: quarantine.quarantineOwner,
      expires_at: quarantine.quarantineExpiresAt,
    },
  });
}

/**
 * The log of an organization or of one test, oldest first.
 *
 * @param options.testId 24 lower-case hex digits
 * @param options.now seconds since 1970: later ends are not listed
 */
export async function listQuarantineLog(
  sql: Queryable,
  { organizationId, testId = null, now }: {
    organizationId: number;
    testId?: string | null;
    now: number;
  },
): Promise<QuarantineEvent[]> {
  const changes = await sql<QuarantineEvent[]>`
    select extract(epoch from changed_at)::float8 as at, subject as "testId",
      d.quarantine as action, d.repository, d.suite, d.class, d.name, d.file,
      coalesce(d.by, author) as author, d.type as "quarantineType", d.reason as "quarantineReason",
      d.owner as "quarantineOwner", d.expires_at as "quarantineExpiresAt"
    from change
    -- Other changes have fields of these names with other types.
    cross join jsonb_to_record(case when detail ? 'quarantine' then detail end) as d(quarantine text, repository text, suite text, class text,
      name text, file text, by text, type text, reason text, owner text, expires_at float8)
    where organization_id = ${organizationId} and d.quarantine is not null
      and (${testId}::text is null or subject = ${testId})
    order by change_id`;
  return withEnds(changes, now);
}

/** When tests were last removed from the quarantine, in seconds since 1970, by test id. */
export async function lastRemovals(
  sql: Queryable,
  { organizationId, testIds }: { organizationId: number; testIds: string[] },
): Promise<Map<string, number>> {
  const rows = await sql<{ testId: string; at: number }[]>`
    select subject as "testId", extract(epoch from max(changed_at))::float8 as at from change
    where organization_id = ${organizationId} and subject = any(${textsIn(sql, testIds)})
      and detail->>'quarantine' = 'removed'
    group by subject`;
  return new Map(rows.map(({ testId, at }) => [testId, at]));
}
