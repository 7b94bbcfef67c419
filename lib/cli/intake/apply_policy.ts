import { applyPolicy } from "../../../db/admin/apply_policy.ts";
import type { Origin } from "../../../db/admin/quarantine_log.ts";
import { loadPolicy } from "../../../db/admin/quarantine_policy.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import type { Database } from "../../../db/connection/connect.ts";
import type { Log } from "../../base/log.ts";
import { formatRepositoryName } from "../../base/repository_name.ts";
import { WINDOW_SECONDS } from "../../base/time.ts";

/**
 * Applies the quarantine policy of a repository, if it has one, after an upload was stored. An error is
 * logged, not thrown: the upload is complete, and the next one applies the policy again.
 *
 * @param options.now seconds since 1970
 */
export async function applyPolicyAfterUpload(
  sql: Database["sql"],
  repository: Repository,
  { now, origin, log }: { now: number; origin: Origin; log: Log },
): Promise<void> {
  const name = formatRepositoryName(repository);
  const messages = { enter: "test quarantined", leave: "test released", stay: null, skip: null };
  try {
    const policy = await loadPolicy(sql, repository);
    if (!policy) return;
    const windowStart = now - WINDOW_SECONDS;
    const decisions = await applyPolicy(sql, repository, policy, { now, windowStart, origin });
    for (const { action, test, reason } of decisions) {
      const message = messages[action];
      if (message) {
        log.info(message, { repository: name, test_id: test.id, test: test.name, reason });
      }
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    log.warn("quarantine policy not applied", { repository: name, error: reason });
  }
}
