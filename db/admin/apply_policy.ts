/** Applies the quarantine policy to a repository. */
import {
  decideQuarantine,
  type PolicyDecision,
  type PolicyMoment,
  type QuarantinePolicy,
} from "../../lib/analysis/quarantine_policy.ts";
import { OWNER_TAG } from "../../lib/analysis/test_tags.ts";
import { activeQuarantine } from "../../lib/analysis/quarantine.ts";
import type { Database } from "../connection/connect.ts";
import type { Queryable } from "../connection/sql.ts";
import { lockRepository } from "../write/repository_row.ts";
import { writeTransaction } from "../write/transaction.ts";
import { loadEntries, loadPolicyTests, type PolicyTest } from "./policy_tests.ts";
import { addQuarantine, removeQuarantine } from "./quarantine.ts";
import type { Origin } from "./quarantine_log.ts";
import type { Repository } from "./repositories.ts";

/** `quarantined_by` of an automatic entry. */
const POLICY = "policy";

/** A decision about a test. */
export type TestDecision = PolicyDecision & { test: PolicyTest };

/**
 * Decides about the tests of a repository, and changes their entries unless `isDryRun`.
 *
 * @returns the decisions about tests that are automatically quarantined or have enough disruptions
 */
export async function applyPolicy(
  sql: Database["sql"],
  repository: Repository,
  policy: QuarantinePolicy,
  options: PolicyMoment & { isDryRun?: boolean; listsSetAside?: boolean; origin: Origin },
): Promise<TestDecision[]> {
  const { isDryRun = false, origin, ...moment } = options;
  const { tests, automaticCount } = await loadPolicyTests(sql, repository, policy, moment);
  const decisions = decideQuarantine(tests, policy, { automaticCount, ...moment });
  const changes = decisions.filter(({ action }) => action === "enter" || action === "leave");
  if (isDryRun || changes.length === 0) return decisions;
  const { now } = moment;
  const { repositoryId } = repository;
  const isApplied = await writeTransaction(sql, async (tx) => {
    await lockRepository(tx, repositoryId);
    // Another process may have changed entries since they were loaded.
    const entries = await loadEntries(tx, repositoryId);
    const isUnchanged = changes.every(({ test }) => {
      const entry = activeQuarantine(entries.get(test.testNo) ?? null, now);
      return entry?.quarantinedAt === test.history.quarantine?.quarantinedAt;
    });
    if (!isUnchanged) return false;
    for (const { test, action, reason } of changes) {
      if (action === "leave") {
        await removeQuarantine(tx, test, { removedAt: now, removedBy: POLICY, reason }, origin);
        continue;
      }
      await addQuarantine(tx, test, {
        quarantinedAt: now,
        quarantinedBy: POLICY,
        quarantineType: "automatic",
        quarantineReason: reason,
        quarantineOwner: await ownerOf(tx, test),
        quarantineExpiresAt: now + policy.expires,
      }, origin);
    }
    return true;
  });
  return isApplied ? decisions : await applyPolicy(sql, repository, policy, options);
}

/** The owners of a test's file, from its `owner:` tags; `null` without any. */
async function ownerOf(
  sql: Queryable,
  { testNo, repository: { repositoryId } }: PolicyTest,
): Promise<string | null> {
  const rows = await sql<{ owner: string }[]>`
    select substr(tag, ${OWNER_TAG.length + 1}::int) as owner from test_tag
    where repository_id = ${repositoryId} and starts_with(tag, ${OWNER_TAG}) and tests @> ${testNo}::int`;
  return rows.map(({ owner }) => owner).sort().join(", ") || null;
}
