// Tests: tests/lib/cli/commands/quarantine_test.ts tests/lib/intake/receive/change_quarantine_test.ts
/** JSON of a test and its quarantine, for commands and the responses of `receive`. */
import type { TestIdentity } from "../base/identity.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { timestampOrNull } from "../base/time.ts";
import type { Quarantine } from "./quarantine.ts";

/** The identity of a test as JSON. */
export function testRecord(
  id: string,
  repository: string,
  { suite, class: className, name, file }: TestIdentity,
) {
  return { id, repository, suite, class: className, name, file };
}

/** JSON of a test and its quarantine. */
export function quarantineRecord(
  test: TestIdentity & { id: string; repository: RepositoryName },
  quarantine: Quarantine | null,
) {
  return {
    ...testRecord(test.id, formatRepositoryName(test.repository), test),
    quarantined_at: timestampOrNull(quarantine?.quarantinedAt ?? null),
    quarantined_by: quarantine?.quarantinedBy ?? null,
    quarantine_type: quarantine?.quarantineType ?? null,
    quarantine_reason: quarantine?.quarantineReason ?? null,
    quarantine_owner: quarantine?.quarantineOwner ?? null,
    quarantine_expires_at: timestampOrNull(quarantine?.quarantineExpiresAt ?? null),
    quarantine_environment: quarantine?.quarantineEnvironment ?? null,
  };
}
