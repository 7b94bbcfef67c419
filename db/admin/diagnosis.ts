/** What an operator wants to know of a database: one function per subject, all of them only read. */
import type { Queryable } from "../connection/sql.ts";

/** The server, as it sees itself. */
export interface ServerState {
  /** Such as `15.8`. */
  version: string;
  /** Seconds since 1970, with fractions. */
  clock: number;
  isReplica: boolean;
  /** How far a replica is behind its primary at most, in seconds; `null` when nobody can tell. */
  lagSeconds: number | null;
  /** Whether a replica has a connection to its primary. */
  isFollowing: boolean;
  user: string;
  isSuperuser: boolean;
  /** Whether the user may create tables, and transactions may write. */
  mayMigrate: boolean;
  databaseBytes: number;
}

/** Loads what the server says of itself. */
export async function loadServerState(sql: Queryable): Promise<ServerState> {
  const [row] = await sql<ServerState[]>`
    select current_setting('server_version') as version,
      extract(epoch from clock_timestamp())::float8 as clock,
      pg_is_in_recovery() as "isReplica",
      case
        when not pg_is_in_recovery() then null
        -- The primary may not have written anything for long: all that came was replayed.
        when exists (select from pg_stat_wal_receiver where pid is not null)
          and pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
        else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())
      end::float8 as "lagSeconds",
      exists (select from pg_stat_wal_receiver where pid is not null) as "isFollowing",
      current_user::text as "user",
      (select rolsuper from pg_roles where rolname = current_user) as "isSuperuser",
      has_schema_privilege(current_schema(), 'create')
        and current_setting('transaction_read_only') = 'off' as "mayMigrate",
      pg_database_size(current_database())::float8 as "databaseBytes"`;
  return row!;
}

/** What arrived lately. */
export interface Freshness {
  organizationCount: number;
  repositoryCount: number;
  /** Repositories with a processed submission in the window. */
  activeRepositoryCount: number;
  /** Of the newest processed submission, seconds since 1970; `null` when there is none. */
  newestRecordedAt: number | null;
}

/** Loads how fresh the data of all organizations is. */
export async function loadFreshness(
  sql: Queryable,
  { windowStart }: { windowStart: number },
): Promise<Freshness> {
  const [row] = await sql<Freshness[]>`
    select (select count(*)::integer from organization) as "organizationCount",
      count(*)::integer as "repositoryCount",
      (count(*) filter (where newest.recorded_at >= to_timestamp(${windowStart}::float8)))::integer
        as "activeRepositoryCount",
      extract(epoch from max(newest.recorded_at))::float8 as "newestRecordedAt"
    from repository r
    left join lateral (
      select s.recorded_at from submission s
      where s.repository_id = r.repository_id and s.status = 'processed'
      order by s.submission_id desc limit 1
    ) newest on true`;
  return row!;
}

/** Tokens that open the API. */
export interface TokenState {
  validCount: number;
  /** Of the valid ones, those that expire soon. */
  expiringCount: number;
}

/** Loads how many tokens are valid, and until when. */
export async function loadTokenState(
  sql: Queryable,
  { now, soon }: { now: number; soon: number },
): Promise<TokenState> {
  const [row] = await sql<TokenState[]>`
    select count(*)::integer as "validCount",
      (count(*) filter (where t.expires_at <= to_timestamp(${soon}::float8)))::integer
        as "expiringCount"
    from api_token t
    join organization o on o.organization_id = t.organization_id
    where t.revoked_at is null
      and (t.expires_at is null or t.expires_at > to_timestamp(${now}::float8))
      and (t.type <> 'legacy' or o.purchase_unit_count > 0)`;
  return row!;
}

/** Archives of one source that watchers could not process. */
export interface ArchiveTrouble {
  source: string;
  failedCount: number;
  /** Begun by a watcher that has gone, and taken over by nobody. */
  abandonedCount: number;
}

/** Loads the sources with archives that wait for somebody, the worst first. */
export async function loadArchiveTroubles(sql: Queryable): Promise<ArchiveTrouble[]> {
  return await sql<ArchiveTrouble[]>`
    select source,
      (count(*) filter (where status = 'failed'))::integer as "failedCount",
      (count(*) filter (where status = 'processing' and claimed_until <= now()))::integer
        as "abandonedCount"
    from archive
    where status = 'failed' or status = 'processing' and claimed_until <= now()
    group by source
    order by count(*) desc, source`;
}
