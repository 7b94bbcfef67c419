// Tests: tests/db/schema/archive_states_test.ts tests/db/schema/distribute_test.ts
import initial from "./0001_initial.sql" with { type: "text" };
import build from "./0002_build.sql" with { type: "text" };
import archiveStates from "./0003_archive_states.sql" with { type: "text" };
import uploadToken from "./0004_upload_token.sql" with { type: "text" };
import visible from "./0005_visible.sql" with { type: "text" };
import validUntil from "./0006_valid_until.sql" with { type: "text" };
import importing from "./0007_import.sql" with { type: "text" };
import environment from "./0008_environment.sql" with { type: "text" };
import notes from "./0009_notes.sql" with { type: "text" };
import testCounts from "./0010_test_counts.sql" with { type: "text" };
import quarantineToken from "./0011_quarantine_token.sql" with { type: "text" };
import webhooks from "./0012_webhooks.sql" with { type: "text" };
import overheads from "./0013_overheads.sql" with { type: "text" };
import testAlias from "./0014_test_alias.sql" with { type: "text" };
import otherFingerprints from "./0015_other_fingerprints.sql" with { type: "text" };
import importIsOneTransaction from "./0016_import_is_one_transaction.sql" with { type: "text" };
import lostCount from "./0017_lost_count.sql" with { type: "text" };
import attempt from "./0018_attempt.sql" with { type: "text" };
import evidence from "./0019_evidence.sql" with { type: "text" };
import knownOnBase from "./0020_known_on_base.sql" with { type: "text" };
import toldByCi from "./0021_told_by_ci.sql" with { type: "text" };
import trustedIssuer from "./0022_trusted_issuer.sql" with { type: "text" };
import quarantineEnvironment from "./0023_quarantine_environment.sql" with { type: "text" };
import removalByToken from "./0024_removal_by_token.sql" with { type: "text" };
import tokenOfPerson from "./0025_token_of_person.sql" with { type: "text" };
import judgedAgain from "./0026_judged_again.sql" with { type: "text" };
import truthCount from "./0027_truth_count.sql" with { type: "text" };
import pullNumber from "./0028_pull_number.sql" with { type: "text" };
import failedSubmission from "./0029_failed_submission.sql" with { type: "text" };
import reportGaps from "./0030_report_gaps.sql" with { type: "text" };
import workflow from "./0031_workflow.sql" with { type: "text" };
import failedAfterPass from "./0032_failed_after_pass.sql" with { type: "text" };
import fileMatchedAt from "./0033_file_matched_at.sql" with { type: "text" };

/** The migrations in order; the schema version is their number. Landed ones never change. */
export const migrations: readonly string[] = [
  initial,
  build,
  archiveStates,
  uploadToken,
  visible,
  validUntil,
  importing,
  environment,
  notes,
  testCounts,
  quarantineToken,
  webhooks,
  overheads,
  testAlias,
  otherFingerprints,
  importIsOneTransaction,
  lostCount,
  attempt,
  evidence,
  knownOnBase,
  toldByCi,
  trustedIssuer,
  quarantineEnvironment,
  removalByToken,
  tokenOfPerson,
  judgedAgain,
  truthCount,
  pullNumber,
  failedSubmission,
  reportGaps,
  workflow,
  failedAfterPass,
  fileMatchedAt,
];
