/** Read-only queries for `doctor`, one function per subject. */
import { compareTexts } from "../../lib/base/text.ts";
import { firstSubmissionId } from "../../lib/base/identity.ts";
import { type Queryable, textsIn } from "../connection/sql.ts";
import { loadBase, loadOtherBranches } from "../read/base_branch.ts";

export interface ServerState {
  /** Such as `15.8`. */
  version: string;
  /** Seconds since 1970, with fractions. */
  clock: number;
  isReplica: boolean;
  /** Maximum replication lag of a replica in seconds; `null` when unknown. */
  lagSeconds: number | null;
  /** Whether a replica is connected to its primary. */
  isStreaming: boolean;
  user: string;
  isSuperuser: boolean;
  /** Whether the user may store uploads. */
  canWrite: boolean;
  /** Whether the user may read tokens, as `serve` does. */
  canReadTokens: boolean;
  /** Whether the user may look up the tokens of uploads, as `receive` does. */
  canLookUpUploadTokens: boolean;
  /** Whether the user may write, create tables and alter those that exist. */
  canMigrate: boolean;
  databaseBytes: number;
}

export async function loadServerState(sql: Queryable): Promise<ServerState> {
  // Not transaction_read_only: `doctor` itself connects read-only.
  const [row] = await sql<ServerState[]>`
    with own_table as (
      select c.oid, c.relname as name, pg_has_role(c.relowner, 'usage') as is_owned from pg_class c
      where c.oid in (to_regclass('schema_migration'), to_regclass('api_token'),
        to_regclass('submission'))
    ), role as (
      select rolsuper as is_superuser,
        not exists (
          select 1 from pg_db_role_setting s
          where s.setrole in (0, r.oid)
            and s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
            and 'default_transaction_read_only=on' = any(s.setconfig)
        ) and coalesce((
          select bool_and(has_table_privilege(oid, 'insert') and has_table_privilege(oid, 'update')
            and has_table_privilege(oid, 'delete'))
          from own_table where name = 'submission'
        ), has_schema_privilege(current_schema(), 'create')) as can_write
      from pg_roles r where rolname = current_user
    )
    select current_setting('server_version') as version,
      extract(epoch from clock_timestamp())::float8 as clock,
      pg_is_in_recovery() as "isReplica",
      case
        when not pg_is_in_recovery() then null
        -- Everything received is replayed, however long ago the primary wrote last.
        when exists (select 1 from pg_stat_wal_receiver where pid is not null)
          and pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() then 0
        else extract(epoch from clock_timestamp() - pg_last_xact_replay_timestamp())
      end::float8 as "lagSeconds",
      exists (select 1 from pg_stat_wal_receiver where pid is not null) as "isStreaming",
      current_user::text as "user",
      is_superuser as "isSuperuser",
      not pg_is_in_recovery() and can_write as "canWrite",
      coalesce((
        select has_any_column_privilege(oid, 'select') from own_table where name = 'api_token'
      ), false) as "canReadTokens",
      coalesce(has_function_privilege(to_regprocedure('upload_token(text, timestamptz)'), 'execute'),
        false) as "canLookUpUploadTokens",
      not pg_is_in_recovery() and can_write
        and has_schema_privilege(current_schema(), 'create')
        and coalesce((select bool_and(is_owned) from own_table), true) as "canMigrate",
      pg_database_size(current_database())::float8 as "databaseBytes"
    from role`;
  return row!;
}

/** Whether a user who may write is refused: on a standby, or by `default_transaction_read_only`. */
export async function isWriterRefused(sql: Queryable): Promise<boolean> {
  const [row] = await sql<{ isRefused: boolean }[]>`
    select current_setting('transaction_read_only') = 'on'
      and coalesce(has_table_privilege(to_regclass('submission'), 'insert'), false) as "isRefused"`;
  return row!.isRefused;
}

export interface Freshness {
  repositoryCount: number;
  /** Repositories with a processed submission in the window. */
  activeRepositoryCount: number;
  /** `recorded_at` of the newest processed submission, seconds since 1970; `null` without one. */
  newestRecordedAt: number | null;
}

/** How current the data is, with the window from `windowStart` in seconds since 1970. */
export async function loadFreshness(
  sql: Queryable,
  { windowStart }: { windowStart: number },
): Promise<Freshness> {
  const [row] = await sql<Freshness[]>`
    select count(*)::integer as "repositoryCount",
      (count(*) filter (where newest.recorded_at >= to_timestamp(${windowStart}::float8)))::integer
        as "activeRepositoryCount",
      extract(epoch from max(newest.recorded_at))::float8 as "newestRecordedAt"
    from repository_state r
    left join lateral (
      select s.recorded_at from submission s
      where s.repository_id = r.repository_id and s.status = 'processed'
      order by s.submission_id desc limit 1
    ) newest on true`;
  return row!;
}

/** The repositories with uploads of which none names its branch, such as `acme/shop`, sorted. */
export async function loadRepositoriesWithoutBranch(
  sql: Queryable,
  { now }: { now: number },
): Promise<string[]> {
  const candidates = await sql<{ repositoryId: number; repository: string }[]>`
    select repository_id::float8 as "repositoryId", owner || '/' || name as repository
    from repository where base_branch is null and default_branch is null`;
  const found: string[] = [];
  for (const { repository, repositoryId } of candidates) {
    if (!(await loadBase(sql, { repositoryId, now })).isBaseNamed) found.push(repository);
  }
  return found.sort(compareTexts);
}

/** A base branch that was set and has no builds, and branches that have. */
interface UnusedBase {
  /** Such as `acme/shop`. */
  repository: string;
  base: string;
  branches: string[];
}

/** The repositories whose base branch was set and has no builds, although other branches have; sorted. */
export async function loadUnusedBases(
  sql: Queryable,
  { now }: { now: number },
): Promise<UnusedBase[]> {
  const candidates = await sql<{ repositoryId: number; repository: string; base: string }[]>`
    select repository_id::float8 as "repositoryId", owner || '/' || name as repository,
      base_branch as base
    from repository where base_branch is not null`;
  const found: UnusedBase[] = [];
  for (const { repository, ...of } of candidates) {
    const branches = await loadOtherBranches(sql, { ...of, now });
    if (branches.length > 0) found.push({ repository, base: of.base, branches });
  }
  return found.sort((a, b) => compareTexts(a.repository, b.repository));
}

/** The latest notes of submissions that begin with some words, of each repository one for each beginning. */
export async function loadLatestNotes(
  sql: Queryable,
  { windowStart, beginnings }: { windowStart: number; beginnings: readonly string[] },
): Promise<{ repository: string; note: string }[]> {
  return await sql<{ repository: string; note: string }[]>`
    select distinct on (r.repository_id, b.beginning) r.owner || '/' || r.name as repository, n.note
    from repository r
    join submission s on s.repository_id = r.repository_id
      and s.submission_id >= decode(${firstSubmissionId(windowStart)}, 'hex')
    cross join lateral unnest(s.notes) as n (note)
    join unnest(${textsIn(sql, beginnings)}) as b (beginning) on starts_with(n.note, b.beginning)
    order by r.repository_id, b.beginning, s.submission_id desc`;
}

/** Whether the user may read the version of the schema, even if there is none. */
export async function canReadSchemaVersion(sql: Queryable): Promise<boolean> {
  const [row] = await sql<[{ can: boolean }]>`
    select coalesce(has_table_privilege(to_regclass('schema_migration'), 'select'), true) as can`;
  return row.can;
}
