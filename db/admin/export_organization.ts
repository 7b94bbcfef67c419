// Tests: tests/lib/cli/commands/export_test.ts
/** Reads an organization as the records of an export (lib/export/records.ts), in batches. */
import type { QuarantinePolicy } from "../../lib/analysis/quarantine_policy.ts";
import type { Quarantine } from "../../lib/analysis/quarantine.ts";
import { testIdPrefix } from "../../lib/base/identity.ts";
import type { ContentRecord, ExportPolicy, ExportRecord } from "../../lib/export/records.ts";
import type { Database } from "../connection/connect.ts";
import { arrayOf, type Queryable } from "../connection/sql.ts";
import { quarantineColumns } from "../read/fragments.ts";
import { readSnapshot } from "../read/snapshot.ts";
import { type ExportedRepository, exportRepository } from "./export_repository.ts";
import { repositoryColumns } from "./repositories.ts";

const CHANGES_PER_BATCH = 1_000;

/**
 * All records of an organization but the first and the last. Uploads during the export are part of it if
 * they came before their repository was reached.
 *
 * @throws {Failure} when something is deleted meanwhile
 */
export async function* exportOrganization(
  sql: Database["sql"],
  organizationId: number,
): AsyncGenerator<ContentRecord[]> {
  const snapshot = await readSnapshot(sql, (tx) => loadOrganization(tx, organizationId));
  yield [snapshot.organization];
  for (const { record, ...repository } of snapshot.repositories) {
    yield [record];
    yield* exportRepository(sql, repository);
  }
  yield snapshot.tokens;
  yield* exportChanges(sql, { organizationId, lastChangeId: snapshot.lastChangeId });
}

/** What is not about the data of one repository, and the quarantine with the end of its log. */
async function loadOrganization(tx: Queryable, organizationId: number) {
  const [organization] = await tx<OrganizationRow[]>`
    select name, purchase_unit_count as "purchaseUnitCount",
      next_repository_number::float8 as "nextRepositoryNumber",
      quarantine_policy::text as policy, extract(epoch from created_at)::float8 as "createdAt", (
        select coalesce(max(change_id), 0)::text from change c
        where c.organization_id = ${organizationId}) as "lastChangeId"
    from organization where organization_id = ${organizationId}`;
  const { name, lastChangeId, policy, createdAt, ...row } = organization!;
  const repositories = await tx<RepositoryRow[]>`
    select ${repositoryColumns(tx)}, quarantine_policy::text as policy, base_branch as "baseBranch",
      default_branch as "defaultBranch"
    from repository
    where organization_id = ${organizationId}
    order by repository_number`;
  const quarantines = await loadQuarantines(
    tx,
    repositories.map(({ repositoryId }) => repositoryId),
  );
  const record: ExportRecord<"organization"> = {
    type: "organization",
    number: organizationId,
    name,
    purchase_units: row.purchaseUnitCount,
    next_repository_id: row.nextRepositoryNumber,
    quarantine_policy: policyOf(policy),
    created_at: createdAt,
  };
  return {
    organization: record,
    repositories: repositories.map((repository) => ({
      ...repository,
      quarantines: quarantines.get(repository.repositoryId) ?? new Map<number, Quarantine>(),
      record: repositoryRecord(repository),
    })),
    tokens: await loadTokens(tx, organizationId),
    lastChangeId,
  };
}

interface OrganizationRow {
  name: string;
  purchaseUnitCount: number;
  nextRepositoryNumber: number;
  policy: string | null;
  createdAt: number;
  lastChangeId: string;
}

type RepositoryRow = Omit<ExportedRepository, "quarantines"> & {
  policy: string | null;
  baseBranch: string | null;
  defaultBranch: string | null;
  url: string;
  createdAt: number;
};

function repositoryRecord(repository: RepositoryRow): ExportRecord<"repository"> {
  const { repositoryNumber, owner, name, url, idPrefix, policy, createdAt } = repository;
  return {
    type: "repository",
    repository_id: repositoryNumber,
    owner,
    name,
    url: url || null,
    test_id_prefix: testIdPrefix(idPrefix),
    quarantine_policy: policyOf(policy),
    base_branch: repository.baseBranch,
    default_branch: repository.defaultBranch,
    created_at: createdAt,
  };
}

/** From JSON: `null` turns the policy off. */
function policyOf(json: string | null): ExportPolicy {
  if (json === null) return null;
  const policy: QuarantinePolicy | null = JSON.parse(json);
  if (policy === null) return "off";
  return {
    disruptions: policy.disruptions,
    code_versions: policy.codeVersions,
    min_results: policy.minResults,
    max_tests: policy.maxTests,
    release_passes: policy.releasePasses,
    release_after_seconds: policy.releaseAfter,
    expires_seconds: policy.expires,
  };
}

/** The entries of repositories by test_no, those that have ended too. */
async function loadQuarantines(
  tx: Queryable,
  repositoryIds: readonly number[],
): Promise<Map<number, Map<number, Quarantine>>> {
  const rows = await tx<(Quarantine & { repositoryId: number; testNo: number })[]>`
    select q.repository_id::float8 as "repositoryId", q.test_no as "testNo",
      ${quarantineColumns(tx)}
    from quarantine q where q.repository_id = any(${arrayOf(repositoryIds)}::bigint[])`;
  const byRepository = Map.groupBy(rows, ({ repositoryId }) => repositoryId);
  return new Map(
    [...byRepository].map(([id, own]) => [id, new Map(own.map((row) => [row.testNo, row]))]),
  );
}

async function loadTokens(
  tx: Queryable,
  organizationId: number,
): Promise<ExportRecord<"token">[]> {
  const rows = await tx<Omit<ExportRecord<"token">, "type">[]>`
    select t.type as token_type, t.hash, t.token_prefix as prefix, t.label,
      r.repository_number::float8 as repository_id,
      extract(epoch from t.created_at)::float8 as created_at,
      extract(epoch from t.expires_at)::float8 as expires_at,
      extract(epoch from t.revoked_at)::float8 as revoked_at,
      extract(epoch from t.last_used_at)::float8 as last_used_at
    from api_token t
    left join repository r
      on r.organization_id = t.organization_id and r.repository_id = t.repository_id
    where t.organization_id = ${organizationId}
    order by t.api_token_id`;
  return rows.map((row) => ({ type: "token", ...row }));
}

async function* exportChanges(
  sql: Queryable,
  { organizationId, lastChangeId }: { organizationId: number; lastChangeId: string },
): AsyncGenerator<ContentRecord[]> {
  for (let after = "0";;) {
    const rows = await sql<(Omit<ExportRecord<"change">, "type"> & { id: string })[]>`
      select change_id::text as id, extract(epoch from changed_at)::float8 as changed_at, author,
        command, subject, detail
      from change
      where organization_id = ${organizationId} and change_id > ${after}::bigint
        and change_id <= ${lastChangeId}::bigint
      order by change_id
      limit ${CHANGES_PER_BATCH}`;
    yield rows.map(({ id: _, ...row }) => ({ type: "change", ...row }));
    if (rows.length < CHANGES_PER_BATCH) return;
    after = rows.at(-1)!.id;
  }
}
