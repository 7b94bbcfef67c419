/** What of the documentation the program serves. The texts are loaded when one is requested. */

/** Paths below `docs/` in the project, and in the addresses of the pages; without extension. */
export const DOCUMENT_PATHS = [
  "guides/agents",
  "guides/backup_and_restore",
  "guides/ci",
  "guides/citus",
  "guides/comment",
  "guides/connection_poolers",
  "guides/curl",
  "guides/digest",
  "guides/docker",
  "guides/gate",
  "guides/install",
  "guides/junit_from_your_tests",
  "guides/observability",
  "guides/quarantine",
  "guides/replicas",
  "guides/retention",
  "guides/reverse_proxy",
  "guides/split",
  "guides/spreadsheets",
  "guides/systemd",
  "guides/upgrade_and_rollback",
  "guides/uploads_by_bucket",
  "guides/webhooks",
  "reference/command_line",
  "reference/errors",
  "reference/export",
  "reference/failure_groups",
  "reference/junit",
  "reference/pages",
  "reference/permissions",
] as const;

/** Files that the guides refer to: where they are in the project, by their names below `docs/files/`. */
export const FILE_PATHS: Readonly<Record<string, string>> = {
  "action.yml": "deploy/ci/action.yml",
  "gitlab.yml": "deploy/ci/gitlab.yml",
  "upload.sh": "deploy/ci/upload.sh",
  "grafana.json": "deploy/grafana.json",
  "alerts.yaml": "deploy/alerts.yaml",
  "SKILL.md": "skills/test-analytics/SKILL.md",
};
