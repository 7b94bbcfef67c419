// Tests: tests/lib/cli/commands/quarantine_test.ts
import { type QuarantineEvent, withEnds } from "../../lib/analysis/quarantine.ts";
import type { Queryable } from "../connection/sql.ts";

/**
 * The quarantine log of an organization or of one test, oldest first.
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
      d.owner as "quarantineOwner", d.expires_at as "quarantineExpiresAt",
      d.environment as "quarantineEnvironment"
    from change
    -- Other changes have fields of these names with other types.
    cross join jsonb_to_record(case when detail ? 'quarantine' then detail end) as d(
      quarantine text, repository text, suite text, class text, name text, file text, by text,
      type text, reason text, owner text, expires_at float8, environment text)
    where organization_id = ${organizationId} and d.quarantine is not null
      and (${testId}::text is null or subject = ${testId})
    order by change_id`;
  return withEnds(changes, now);
}
