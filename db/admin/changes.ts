// Tests: tests/db/write/webhook_events_test.ts tests/lib/intake/receive/change_quarantine_test.ts
/** The log of changes that the command line made. Rows are only added, never changed or deleted. */
import type { Queryable } from "../connection/sql.ts";

export interface Change {
  /** Seconds since 1970. */
  changedAt: number;
  /** User and host, or the CI job. */
  author: string;
  /** The command, such as `repo delete`. */
  command: string;
  /** The changed object: a name or an id. */
  subject: string;
  /** More about it. Never a secret. */
  detail: Readonly<Record<string, string | number | null>>;
}

/** Who makes a change, and with which command. */
export type Origin = Pick<Change, "author" | "command">;

/** Adds a change of an organization to the log, in the transaction that makes it. */
export async function insertChange(
  tx: Queryable,
  { organizationId, changedAt, author, command, subject, detail }: Change & {
    organizationId: number;
  },
): Promise<void> {
  await tx`
    insert into change (organization_id, changed_at, author, command, subject, detail)
    values (${organizationId}, to_timestamp(${changedAt}), ${author}, ${command}, ${subject},
      ${JSON.stringify(detail)}::text::jsonb)`;
}

/** Adds changes that were made elsewhere to the log of an organization, in their order. */
export async function insertChanges(
  sql: Queryable,
  { organizationId, changes }: { organizationId: number; changes: readonly Change[] },
): Promise<void> {
  const rows = changes.map((change, index) => ({ ...change, index }));
  await sql`
    insert into change (organization_id, changed_at, author, command, subject, detail)
    select ${organizationId}, to_timestamp("changedAt"), author, command, subject, detail
    from json_to_recordset(${JSON.stringify(rows)}::text::json) as t(index int,
      "changedAt" float8, author text, command text, subject text, detail jsonb)
    order by index`;
}

/** All changes of an organization, oldest first. */
export async function listChanges(sql: Queryable, organizationId: number): Promise<Change[]> {
  return await sql<Change[]>`
    select extract(epoch from changed_at)::float8 as "changedAt", author, command, subject, detail
    from change
    where organization_id = ${organizationId}
    order by change_id`;
}

/** Whether a command has changed an object before. */
export async function hasChange(
  sql: Queryable,
  { command, subject, organizationId }: Pick<Change, "command" | "subject"> & {
    /** Any organization unless given. */
    organizationId?: number;
  },
): Promise<boolean> {
  const [row] = await sql`
    select 1 from change where command = ${command} and subject = ${subject}
      and ${organizationId === undefined ? sql`true` : sql`organization_id = ${organizationId}`}
    limit 1`;
  return row !== undefined;
}
