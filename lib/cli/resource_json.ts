/** JSON of repositories, submissions, tests and quarantines, as commands print it. */
import type { StoredTest } from "../../db/admin/quarantine.ts";
import type { Repository } from "../../db/admin/repositories.ts";
import type { StoredSubmission } from "../../db/read/submissions.ts";
import type { Quarantine } from "../analysis/quarantine.ts";
import type { TestIdentity } from "../base/identity.ts";
import { jsonRecord } from "../base/json_record.ts";
import { formatRepositoryName } from "../base/repository_name.ts";
import { timestampOrNull } from "../base/time.ts";

/** JSON of a repository. */
export function repositoryRecord(repository: Repository) {
  const { organizationId, repositoryNumber: repositoryId, owner, name, createdAt } = repository;
  return jsonRecord({ organizationId, repositoryId, owner, name, createdAt });
}

/** The identity of a test as JSON. */
export function testRecord(
  id: string,
  repository: string,
  { suite, class: className, name, file }: TestIdentity,
) {
  return { id, repository, suite, class: className, name, file };
}

/** JSON of a test and its quarantine. */
export function quarantineRecord(test: StoredTest, quarantine: Quarantine | null) {
  return {
    ...testRecord(test.id, formatRepositoryName(test.repository), test),
    quarantined_at: timestampOrNull(quarantine?.quarantinedAt ?? null),
    quarantined_by: quarantine?.quarantinedBy ?? null,
    quarantine_type: quarantine?.quarantineType ?? null,
    quarantine_reason: quarantine?.quarantineReason ?? null,
    quarantine_owner: quarantine?.quarantineOwner ?? null,
    quarantine_expires_at: timestampOrNull(quarantine?.quarantineExpiresAt ?? null),
  };
}

/** JSON of a submission. */
export function submissionRecord({ treeOid, branch, ...rest }: StoredSubmission) {
  const { environment, job, shard } = rest;
  const { key, status, recordedAt, uploadedAt, buildUrl, commitOid, testResultCount, notes } = rest;
  return {
    ...jsonRecord({ key, status, recordedAt, uploadedAt, buildUrl, commitOid, testResultCount }),
    notes,
    tree_oid: treeOid || null,
    branch: branch || null,
    environment: environment || null,
    job: job || null,
    shard: shard || null,
  };
}
