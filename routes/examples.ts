/**
 * Example responses of the documentation. They show the same repository, so that ids and commits recur
 * across examples. A test validates each against the schema of its route.
 */
import { encodeKeysetCursor, encodeRunCursor } from "../lib/base/cursor.ts";
import { organizationUuid } from "../lib/base/identity.ts";

const LATEST_RUN = {
  build_url: "https://ci.example.org/acme/shop/runs/4812",
  commit_oid: "9f2c4e1ab07d5836c1e94f0b2d7a6853e0c1f4d9",
  recorded_at: "2026-01-31T09:14:52Z",
};

const EARLIER_RUN = {
  build_url: "https://ci.example.org/acme/shop/runs/4790",
  commit_oid: "41d0b7c3e92f68a5d17c0e3b94f2a6d85c7e1b30",
  recorded_at: "2026-01-30T16:20:07Z",
};

/** The first 8 digits are `recorded_at` in seconds. */
const LATEST_EVENT_ID = "697dc80ca1f03b7c5d92e846";
const LATEST_SUBMISSION_ID = "697dc80c14b6e07a92d3f58c";
const EARLIER_SUBMISSION_ID = "697cda37c2e35f3ad4a86f01";

const TEST = {
  id: "5f3a9c0e7b12d4a86f01c2e3",
  name: "sends the receipt once",
  suite: "checkout",
  class: "ReceiptTest",
  file: "src/checkout/receipt_test.ts",
};

const TIMED_OUT = "timed out after 5000 ms: no mail arrived";

const LATEST_FAILURE = {
  recorded_at: LATEST_RUN.recorded_at,
  build_url: LATEST_RUN.build_url,
  message: TIMED_OUT,
};

const LATEST_PASS = { ...LATEST_FAILURE, message: null };

export const ORGANIZATIONS_EXAMPLE = {
  organizations: [{ id: organizationUuid(1), name: "Acme", slug: "acme" }],
};

/** A repository with a page, and one without. */
export const REPOSITORIES_EXAMPLE = {
  repositories: [
    { id: "2", name: "api", full_name: "acme/api", url: "", description: "" },
    {
      id: "1",
      name: "shop",
      full_name: "acme/shop",
      url: "https://github.com/acme/shop",
      description: "",
    },
  ],
};

/** A full page of two, with a next page. */
export const SUBMISSIONS_EXAMPLE = {
  count: 37,
  submissions: [
    {
      id: LATEST_SUBMISSION_ID,
      key: `acme/shop/${LATEST_SUBMISSION_ID}`,
      ...LATEST_RUN,
      tree_oid: "d2b7f04c9a6e1385b0c4d7e92f81a3560b9d7c14",
      branch: "main",
      status: "processed",
      test_result_count: 1284,
    },
    {
      id: EARLIER_SUBMISSION_ID,
      key: `acme/shop/${EARLIER_SUBMISSION_ID}`,
      ...EARLIER_RUN,
      tree_oid: "",
      branch: "release/2.4",
      status: "processed",
      test_result_count: 1279,
    },
  ],
  metadata: { after: encodeKeysetCursor(EARLIER_SUBMISSION_ID), limit: 2 },
};

/** The only page. */
export const DISRUPTIVE_TESTS_EXAMPLE = {
  count: 1,
  tests: [{
    ...TEST,
    disruptiveness: 0.054,
    nondeterministic_negative_result_count: 2,
    nondeterminism_first_recorded_at: EARLIER_RUN.recorded_at,
    latest_nondeterministic_commit_oid: LATEST_RUN.commit_oid,
    latest_nondeterministic_negative_result: LATEST_FAILURE,
    latest_nondeterministic_positive_result: LATEST_PASS,
  }],
  metadata: { after: null, limit: 10 },
};

/** Both disruptions of the test. */
export const TEST_RESULTS_EXAMPLE = {
  results: [
    { id: LATEST_EVENT_ID, ...LATEST_RUN, conclusion: "failure", message: TIMED_OUT },
    {
      id: "697cda370b5d9e13f7a2c684",
      ...EARLIER_RUN,
      conclusion: "error",
      message: "ConnectionError: mail.example.org:25 refused the connection",
    },
  ],
};

const EXPANSIONS = {
  disruptiveness_ratio: 0.054,
  nondeterministic_negative_result_count: 2,
  disruption_count: 2,
  nondeterminism_first_recorded_at: EARLIER_RUN.recorded_at,
  first_disruption_at: EARLIER_RUN.recorded_at,
  recent_nondeterministic_commit_oid: LATEST_RUN.commit_oid,
  recent_nondeterministic_negative_result: LATEST_FAILURE,
  recent_nondeterministic_positive_result: LATEST_PASS,
  tags: ["mail", "nightly"],
  quarantine_date: "2026-01-31T10:02:00Z",
  quarantined_by: "sam@example.org",
  quarantine_type: "manual",
  time_consumed: 48_210_000,
  pass_rate: 0.945,
  avg_duration_ms: 1303,
  quarantine_reason: "The mail server of the test environment is slow",
  quarantine_owner: "@acme/checkout",
  quarantine_expires_at: "2026-03-02T10:02:00Z",
};

/** A quarantined test with all expansions. */
export const FLAKY_TESTS_EXAMPLE = {
  count: 1,
  tests: [{ ...TEST, ...EXPANSIONS }],
  metadata: { after: null, limit: 25 },
};

/** The same test by its id. */
export const TEST_DETAILS_EXAMPLE = {
  ...TEST,
  repository: "acme/shop",
  repository_id: 1,
  is_quarantined: true,
  ...EXPANSIONS,
};

/** The same test, which failed again. */
export const VERDICTS_EXAMPLE = {
  tests: [{
    ...TEST,
    verdict: "flaky",
    disruptiveness_ratio: 0.054,
    recent_nondeterministic_negative_result: LATEST_FAILURE,
    recent_base_negative_result: LATEST_FAILURE,
  }],
};

const FAILED_ATTEMPT = {
  conclusion: "failure",
  duration_us: 5_004_120,
  message: TIMED_OUT,
  body: `TimeoutError: ${TIMED_OUT}\n    at Mailbox.next (src/checkout/mailbox.ts:42:11)\n` +
    "    at src/checkout/receipt_test.ts:17:3",
  run_count: 1,
  is_disruption: true,
};

/** Failures of the latest run. */
export const SUBMISSION_TESTS_EXAMPLE = {
  count: 1,
  tests: [{
    ...TEST,
    id: LATEST_EVENT_ID,
    test_case_id: TEST.id,
    ...FAILED_ATTEMPT,
    ran_at: LATEST_RUN.recorded_at,
  }],
  metadata: { after: null, limit: 25 },
};

/** A failure and its retry. */
export const TEST_RUNS_EXAMPLE = {
  runs: [
    { conclusion: "passing", duration_us: 212_000, message: null, body: null, run_count: 2 },
    FAILED_ATTEMPT,
  ].map((attempt) => ({
    submission_id: LATEST_SUBMISSION_ID,
    ...LATEST_RUN,
    tree_oid: "",
    branch: "main",
    ...attempt,
    is_disruption: attempt === FAILED_ATTEMPT,
  })),
  metadata: {
    after: encodeRunCursor({ submissionId: LATEST_SUBMISSION_ID, runCount: 1 }),
    limit: 2,
  },
};

const FAILURE_GROUP = {
  fingerprint: "9e107d9d372bb682",
  message: TIMED_OUT,
  body: FAILED_ATTEMPT.body,
  count: 14,
  disruption_count: 12,
  first_recorded_at: EARLIER_RUN.recorded_at,
  last_recorded_at: LATEST_RUN.recorded_at,
  branches: ["main", "release/2026-01"],
  latest_build_url: LATEST_RUN.build_url,
  latest_commit_oid: LATEST_RUN.commit_oid,
};

/** The only cause. */
export const TEST_FAILURES_EXAMPLE = { count: 1, failures: [FAILURE_GROUP] };

/** The only cause, behind two tests. */
export const REPOSITORY_FAILURES_EXAMPLE = {
  count: 1,
  failures: [{ ...FAILURE_GROUP, test_count: 2, tests: [TEST.id, "5f3a9c0e7b1f06c39a48d27e"] }],
};
