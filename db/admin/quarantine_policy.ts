// Tests: tests/lib/cli/commands/quarantine_test.ts
/** The quarantine policies of organizations and repositories: stored, listed and applied. */
import {
  decideQuarantine,
  type PolicyDecision,
  type PolicyMoment,
  type QuarantinePolicy,
} from "../../lib/analysis/quarantine_policy.ts";
import type { RepositoryName } from "../../lib/base/repository_name.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { loadOwnersOfTests } from "../read/owners.ts";
import { readSnapshot } from "../read/snapshot.ts";
import { lockRepository } from "../write/repository_row.ts";
import { writeTransaction } from "../write/transaction.ts";
import { loadPolicyTests, POLICY, type PolicyTest } from "./quarantine_candidates.ts";
import type { Origin } from "./changes.ts";
import { addQuarantine, removeQuarantine } from "./quarantine.ts";
import type { Repository } from "./repositories.ts";

/**
 * Sets the policy of a repository, or with `null` of all repositories without their own. The policy
 * `null` turns it off.
 */
export async function setPolicy(
  tx: Queryable,
  { organizationId, repositoryId }: { organizationId: number; repositoryId: number | null },
  policy: QuarantinePolicy | null,
): Promise<void> {
  const value = JSON.stringify(policy);
  if (repositoryId === null) {
    await tx`
      update organization set quarantine_policy = ${value}::text::jsonb
      where organization_id = ${organizationId}`;
  } else {
    await tx`
      update repository set quarantine_policy = ${value}::text::jsonb
      where organization_id = ${organizationId} and repository_id = ${repositoryId}`;
  }
}

/** The policy that applies to a repository, `null` when it is off. */
export async function loadPolicy(
  sql: Queryable,
  { organizationId, repositoryId }: { organizationId: number; repositoryId: number },
): Promise<QuarantinePolicy | null> {
  const [row] = await sql<{ policy: QuarantinePolicy | null }[]>`
    select coalesce(r.quarantine_policy, o.quarantine_policy) as policy
    from repository r
    join organization o on o.organization_id = r.organization_id
    where r.organization_id = ${organizationId} and r.repository_id = ${repositoryId}`;
  return row?.policy ?? null;
}

/** The policies of an organization, its own (without a repository) first; `null`: off. */
export async function listPolicies(sql: Queryable, organizationId: number) {
  return await sql<{ repository: RepositoryName | null; policy: QuarantinePolicy | null }[]>`
    select null::json as repository, quarantine_policy as policy from organization
    where organization_id = ${organizationId} and quarantine_policy is not null
    union all (
      select json_build_object('owner', owner, 'name', name), quarantine_policy from repository
      where organization_id = ${organizationId} and quarantine_policy is not null
      order by owner_key collate "C", name_key collate "C")`;
}

/** What a policy decides about the tests of a repository, in the snapshot of a transaction. */
export async function decideByPolicy(
  tx: Queryable,
  repository: Repository,
  policy: QuarantinePolicy,
  moment: PolicyMoment,
): Promise<(PolicyDecision & { test: PolicyTest })[]> {
  const { tests, ...found } = await loadPolicyTests(tx, repository, policy, moment);
  return decideQuarantine(tests, policy, { ...found, ...moment });
}

/**
 * Decides about the tests of a repository, and changes their entries unless `isDryRun`.
 *
 * @returns the decisions about tests that are automatically quarantined or have enough disruptions
 */
export async function applyPolicy(
  sql: Database["sql"],
  repository: Repository,
  policy: QuarantinePolicy,
  options: PolicyMoment & { isDryRun?: boolean; origin: Origin },
): Promise<(PolicyDecision & { test: PolicyTest })[]> {
  const { isDryRun = false, origin, ...moment } = options;
  const decide = async (tx: Queryable) => await decideByPolicy(tx, repository, policy, moment);
  const decisions = await readSnapshot(sql, decide);
  const isChange = ({ action }: PolicyDecision) => action === "enter" || action === "leave";
  if (isDryRun || !decisions.some(isChange)) return decisions;
  const { now } = moment;
  return await writeTransaction(sql, async (tx) => {
    await lockRepository(tx, repository.repositoryId);
    // Again with the lock held: another process may have changed entries in between.
    const decisions = await decide(tx);
    for (const { test, action, reason } of decisions) {
      if (action === "leave") {
        await removeQuarantine(tx, test, { removedAt: now, removedBy: POLICY, reason }, origin);
      }
      if (action === "enter") {
        const { repositoryId } = test.repository;
        const owners = await loadOwnersOfTests(tx, { repositoryId, testNos: [test.testNo] });
        await addQuarantine(tx, test, {
          quarantinedAt: now,
          quarantinedBy: POLICY,
          quarantineType: "automatic",
          quarantineReason: reason,
          quarantineOwner: owners.get(test.testNo)?.join(", ") ?? null,
          quarantineExpiresAt: now + policy.expires,
          quarantineEnvironment: null,
        }, origin);
      }
    }
    return decisions;
  });
}
