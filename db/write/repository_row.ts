/** The lock and the data version of a repository, which every change of its data uses. */
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Queryable } from "../connection/sql.ts";

/** A repository whose state is locked. */
export interface LockedRepository extends RepositoryName {
  idPrefix: number;
  /** Counts changes that did not only add. */
  changeCount: number;
}

/** Locks a repository, as every change of its data must; `null` when it does not exist. */
export async function lockRepository(
  tx: Queryable,
  repositoryId: number,
): Promise<LockedRepository | null> {
  const [state] = await tx<{ idPrefix: number; changeCount: number; isVisible: boolean }[]>`
    select id_prefix::float8 as "idPrefix", ${changeCount(tx)} as "changeCount",
      is_visible as "isVisible"
    from repository_state
    where repository_id = ${repositoryId}
    for no key update`;
  // Read with the lock held: a deletion takes it too.
  const [name] = await tx<(RepositoryName & { isNumbered: boolean })[]>`
    select owner, name, repository_number is not null as "isNumbered"
    from repository where repository_id = ${repositoryId}`;
  if (!state || !name) return null;
  // On Citus a worker commits first. If the coordinator dies before it does, the number is lost.
  if (state.isVisible && !name.isNumbered) await showRepository(tx, repositoryId);
  return { ...state, ...name };
}

/** Makes cached responses about a repository stale. */
export async function bumpDataVersion(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository_state set data_version = data_version + 1
    where repository_id = ${repositoryId}`;
}

/**
 * The same, for a change that only added submissions or coverage: caches then load just those. A
 * hidden repository becomes visible. Returns the new data version.
 */
export async function bumpForAddition(tx: Queryable, repositoryId: number): Promise<number> {
  const [row] = await tx<{ dataVersion: number; isVisible: boolean }[]>`
    update repository_state
    set data_version = data_version + 1, addition_count = addition_count + 1
    where repository_id = ${repositoryId}
    returning data_version::float8 as "dataVersion", is_visible as "isVisible"`;
  if (row?.isVisible === false) await showRepository(tx, repositoryId);
  return row?.dataVersion ?? 0;
}

/**
 * Takes the next numbers of a repository; returns the first. A statement of its own: as part of the one
 * that stores something under them, Citus sends it to all workers.
 */
export async function takeNumbers(
  sql: Queryable,
  { repositoryId, column, count = 1 }: {
    repositoryId: number;
    column: "next_test_no" | "next_test_list_no";
    count?: number;
  },
): Promise<number> {
  const [row] = await sql<{ first: number }[]>`
    update repository_state set ${sql(column)} = ${sql(column)} + ${count}
    where repository_id = ${repositoryId}
    returning ${sql(column)} - ${count} as first`;
  return row!.first;
}

/**
 * Makes a hidden repository, whose state is locked, visible under the given or the next free number.
 * @throws {RangeError} when the number is taken
 */
export async function showRepository(
  tx: Queryable,
  repositoryId: number,
  given?: number,
): Promise<void> {
  const [{ organizationId }] = await tx<[{ organizationId: number }]>`
    select organization_id as "organizationId" from repository
    where repository_id = ${repositoryId}`;
  // Numbers of an organization are taken one at a time.
  await tx`
    select 1 from organization where organization_id = ${organizationId} for no key update`;
  const number = given ?? await nextNumber(tx, organizationId);
  const { count } = await tx`
    update repository set repository_number = ${number}
    where repository_id = ${repositoryId}
      and not exists (select 1 from repository r
        where r.organization_id = ${organizationId} and r.repository_number = ${number})`;
  if (count === 0) throw new RangeError(`repository id ${number} is already used`);
  await tx`
    update repository_state set is_visible = true where repository_id = ${repositoryId}`;
}

/** Takes the next free number of an organization: given numbers may be ahead of the counter. */
async function nextNumber(tx: Queryable, organizationId: number): Promise<number> {
  const [row] = await tx<{ number: number }[]>`
    update organization o set next_repository_number = 1 + (
      select min(number) from generate_series(o.next_repository_number, o.next_repository_number + (
        select count(*) from repository r where r.organization_id = o.organization_id)) as number
      where not exists (select 1 from repository r
        where r.organization_id = o.organization_id and r.repository_number = number))
    where organization_id = ${organizationId}
    returning (next_repository_number - 1)::float8 as number`;
  return row!.number;
}

/**
 * Notes that something was removed that no response shows. Caches load the repository in full after its
 * next change, because submissions that they have not loaded yet may be gone; uploads look up tests
 * again.
 */
export async function interruptAdditions(tx: Queryable, repositoryId: number): Promise<void> {
  await tx`
    update repository_state set addition_count = addition_count - 1
    where repository_id = ${repositoryId}`;
}

/** SQL: how many changes of a row of `repository_state` did not only add. */
export function changeCount(sql: Queryable) {
  return sql`(data_version - addition_count)::float8`;
}
