// Tests: tests/routes/guides_test.ts
// Written by `deno task fix`.
/** Paths below `docs/`, and in the addresses of the pages; without extension. */
export const DOCUMENT_PATHS = ["guides/agents","guides/backup_and_restore","guides/ci","guides/citus","guides/comment","guides/connection_poolers","guides/curl","guides/digest","guides/docker","guides/gate","guides/install","guides/junit_from_your_tests","guides/observability","guides/quarantine","guides/replicas","guides/retention","guides/reverse_proxy","guides/split","guides/spreadsheets","guides/systemd","guides/upgrade_and_rollback","guides/uploads_by_bucket","guides/webhooks","reference/command_line","reference/errors","reference/export","reference/failure_groups","reference/junit","reference/pages","reference/permissions"] as const;
