/**
 * The row of an organization while it is imported. Commands and tokens do not find it, and its name is
 * taken. The import holds a lease that it keeps extending; when it dies, the lease expires, and the next
 * import deletes what is there.
 */
import { caseKey } from "../../lib/base/identity.ts";
import { Failure } from "../../lib/base/failure.ts";
import { quote } from "../../lib/base/quote.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { writeTransaction } from "../write/transaction.ts";
import type { Organization } from "./organizations.ts";
import { deleteRepository } from "./repositories.ts";

/** Longer than any transaction of an import, and than a pause of its source. */
const LEASE_SECONDS = 60;
const EXTEND_AFTER_MS = 10_000;

interface NewOrganization extends Organization {
  nextRepositoryNumber: number;
  /** JSON; `null` for none. */
  policy: string | null;
}

/** An organization that only this import may write. */
export class ImportClaim {
  #extendedAt = performance.now();

  private constructor(
    readonly sql: Database["sql"],
    readonly organizationId: number,
    /** The end of the lease, as the database prints it. */
    private until: string,
  ) {}

  /** Creates an organization, with its number if that is free. @throws {Failure} when the name is taken */
  static async create(
    sql: Database["sql"],
    organization: NewOrganization,
  ): Promise<ImportClaim> {
    const { name, organizationId: number } = organization;
    return await writeTransaction(sql, async (tx) => {
      const [taken] = await tx<{ hasName: boolean; isImporting: boolean }[]>`
        select name_key = ${caseKey(name)} as "hasName",
          importing_until is not null as "isImporting"
        from organization
        where name_key = ${caseKey(name)} or organization_id = ${number}
        order by 1 desc limit 1`;
      if (taken?.hasName) throw nameTaken(name, taken);
      const [row] = await tx<{ organizationId: number; until: string }[]>`
        insert into organization (organization_id, name, name_key, purchase_unit_count,
          next_repository_number, quarantine_policy, created_at, importing_until)
        overriding system value
        values (${taken ? nextId(tx) : tx`${number}::int`}, ${name}, ${caseKey(name)},
          ${organization.purchaseUnitCount}, ${organization.nextRepositoryNumber},
          ${organization.policy}::text::jsonb, to_timestamp(${organization.createdAt}),
          ${leaseEnd(tx)})
        on conflict do nothing
        returning organization_id as "organizationId", importing_until::text as until`;
      // Created at the same time.
      if (!row) throw nameTaken(name, { isImporting: false });
      // The next organization gets another number.
      await tx`
        select setval(${SEQUENCE}, ${row.organizationId}::int)
        from organization_organization_id_seq where last_value <= ${row.organizationId}::int`;
      return new ImportClaim(sql, row.organizationId, row.until);
    });
  }

  /** Deletes what imports left whose leases have expired. */
  static async deleteAbandoned(sql: Database["sql"]): Promise<void> {
    const abandoned = await sql<{ organizationId: number; until: string }[]>`
      select organization_id as "organizationId", importing_until::text as until
      from organization where importing_until < now()`;
    for (const { organizationId, until } of abandoned) {
      const claim = new ImportClaim(sql, organizationId, until);
      // Another import may delete it at the same time.
      await claim.delete();
    }
  }

  /** Extends the lease once in a while. @throws {Failure} when another import has taken over */
  async extend(): Promise<void> {
    if (performance.now() - this.#extendedAt < EXTEND_AFTER_MS) return;
    if (!await this.#extend()) throw this.#lost();
  }

  async #extend(): Promise<boolean> {
    const [row] = await this.sql<{ until: string }[]>`
      update organization set importing_until = ${leaseEnd(this.sql)}
      where ${this.#isOwn(this.sql)}
      returning importing_until::text as until`;
    if (!row) return false;
    this.until = row.until;
    this.#extendedAt = performance.now();
    return true;
  }

  /** Makes the organization visible, at the end of the import. */
  async finish(tx: Queryable): Promise<void> {
    const { count } = await tx`
      update organization set importing_until = null where ${this.#isOwn(tx)}`;
    if (count === 0) throw this.#lost();
  }

  /**
   * Deletes the organization with all that was imported, unless it is finished or another import has taken
   * over; returns whether it did.
   */
  async delete(): Promise<boolean> {
    const { sql, organizationId } = this;
    // Waits for a transaction whose connection was lost.
    if (!await this.#extend()) return false;
    const repositories = await sql<{ repositoryId: number }[]>`
      select repository_id::float8 as "repositoryId" from repository
      where organization_id = ${organizationId}`;
    for (const { repositoryId } of repositories) {
      await this.extend();
      await writeTransaction(sql, async (tx) => {
        // Not as archives of a deleted repository, which `watch` would not process again.
        await tx`delete from archive where repository_id = ${repositoryId}`;
        await deleteRepository(tx, { organizationId, repositoryId });
      });
    }
    return await writeTransaction(sql, async (tx) => {
      const [own] = await tx`
        select 1 from organization where ${this.#isOwn(tx)} for update`;
      if (!own) return false;
      await tx`delete from change where organization_id = ${organizationId}`;
      await tx`delete from organization where organization_id = ${organizationId}`;
      return true;
    });
  }

  /** Whether the organization is visible. */
  async isFinished(): Promise<boolean> {
    const rows = await this.sql`
      select 1 from organization
      where organization_id = ${this.organizationId} and importing_until is null`;
    return rows.length > 0;
  }

  #isOwn(sql: Queryable) {
    return sql`organization_id = ${this.organizationId}
      and importing_until = ${this.until}::text::timestamptz`;
  }

  #lost(): Failure {
    return new Failure(
      `another import deleted this one, which wrote nothing for ${LEASE_SECONDS} s: repeat it`,
    );
  }
}

function nameTaken(name: string, { isImporting }: { isImporting: boolean }): Failure {
  return new Failure(
    isImporting
      ? `organization ${
        quote(name)
      } is being imported by another process: wait for its end; after ` +
        `${LEASE_SECONDS} s without a sign of it, repeating the import starts again`
      : `organization ${quote(name)} already exists: import it into another database, or under ` +
        "another name with --org NAME",
  );
}

const SEQUENCE = "organization_organization_id_seq";

function nextId(sql: Queryable) {
  return sql`nextval(${SEQUENCE})`;
}

function leaseEnd(sql: Queryable) {
  return sql`clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`;
}
