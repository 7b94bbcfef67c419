// Tests: tests/lib/http/docs_page/page_test.ts tests/lib/http/llms_txt/document_test.ts
// Written by `deno task fix`.
/** The texts of the documentation. Loaded with the first request for one. */
import index from "../../../docs/README.md" with { type: "text" };
import guides_agents from "../../../docs/guides/agents.md" with { type: "text" };
import guides_backup_and_restore from "../../../docs/guides/backup_and_restore.md" with {
  type: "text",
};
import guides_ci from "../../../docs/guides/ci.md" with { type: "text" };
import guides_citus from "../../../docs/guides/citus.md" with { type: "text" };
import guides_comment from "../../../docs/guides/comment.md" with { type: "text" };
import guides_connection_poolers from "../../../docs/guides/connection_poolers.md" with {
  type: "text",
};
import guides_curl from "../../../docs/guides/curl.md" with { type: "text" };
import guides_digest from "../../../docs/guides/digest.md" with { type: "text" };
import guides_docker from "../../../docs/guides/docker.md" with { type: "text" };
import guides_gate from "../../../docs/guides/gate.md" with { type: "text" };
import guides_install from "../../../docs/guides/install.md" with { type: "text" };
import guides_junit_from_your_tests from "../../../docs/guides/junit_from_your_tests.md" with {
  type: "text",
};
import guides_observability from "../../../docs/guides/observability.md" with { type: "text" };
import guides_quarantine from "../../../docs/guides/quarantine.md" with { type: "text" };
import guides_replicas from "../../../docs/guides/replicas.md" with { type: "text" };
import guides_retention from "../../../docs/guides/retention.md" with { type: "text" };
import guides_reverse_proxy from "../../../docs/guides/reverse_proxy.md" with { type: "text" };
import guides_split from "../../../docs/guides/split.md" with { type: "text" };
import guides_spreadsheets from "../../../docs/guides/spreadsheets.md" with { type: "text" };
import guides_systemd from "../../../docs/guides/systemd.md" with { type: "text" };
import guides_upgrade_and_rollback from "../../../docs/guides/upgrade_and_rollback.md" with {
  type: "text",
};
import guides_uploads_by_bucket from "../../../docs/guides/uploads_by_bucket.md" with {
  type: "text",
};
import guides_webhooks from "../../../docs/guides/webhooks.md" with { type: "text" };
import reference_command_line from "../../../docs/reference/command_line.md" with { type: "text" };
import reference_errors from "../../../docs/reference/errors.md" with { type: "text" };
import reference_export from "../../../docs/reference/export.md" with { type: "text" };
import reference_failure_groups from "../../../docs/reference/failure_groups.md" with {
  type: "text",
};
import reference_junit from "../../../docs/reference/junit.md" with { type: "text" };
import reference_pages from "../../../docs/reference/pages.md" with { type: "text" };
import reference_permissions from "../../../docs/reference/permissions.md" with { type: "text" };
import action_yml from "../../../deploy/ci/action.yml" with { type: "text" };
import gitlab_yml from "../../../deploy/ci/gitlab.yml" with { type: "text" };
import upload_sh from "../../../deploy/ci/upload.sh" with { type: "text" };
import grafana_json from "../../../deploy/grafana.json" with { type: "text" };
import alerts_yaml from "../../../deploy/alerts.yaml" with { type: "text" };
import SKILL_md from "../../../skills/test-analytics/SKILL.md" with { type: "text" };

/** The list of all documents, `docs/README.md`. */
export const INDEX: string = index;

/** Markdown by its path below `docs/`, without extension. */
export const DOCUMENTS: Readonly<Record<string, string>> = {
  "guides/agents": guides_agents,
  "guides/backup_and_restore": guides_backup_and_restore,
  "guides/ci": guides_ci,
  "guides/citus": guides_citus,
  "guides/comment": guides_comment,
  "guides/connection_poolers": guides_connection_poolers,
  "guides/curl": guides_curl,
  "guides/digest": guides_digest,
  "guides/docker": guides_docker,
  "guides/gate": guides_gate,
  "guides/install": guides_install,
  "guides/junit_from_your_tests": guides_junit_from_your_tests,
  "guides/observability": guides_observability,
  "guides/quarantine": guides_quarantine,
  "guides/replicas": guides_replicas,
  "guides/retention": guides_retention,
  "guides/reverse_proxy": guides_reverse_proxy,
  "guides/split": guides_split,
  "guides/spreadsheets": guides_spreadsheets,
  "guides/systemd": guides_systemd,
  "guides/upgrade_and_rollback": guides_upgrade_and_rollback,
  "guides/uploads_by_bucket": guides_uploads_by_bucket,
  "guides/webhooks": guides_webhooks,
  "reference/command_line": reference_command_line,
  "reference/errors": reference_errors,
  "reference/export": reference_export,
  "reference/failure_groups": reference_failure_groups,
  "reference/junit": reference_junit,
  "reference/pages": reference_pages,
  "reference/permissions": reference_permissions,
};

/** Files that the guides refer to, by name. */
export const FILES: Readonly<Record<string, string>> = {
  "action.yml": action_yml,
  "gitlab.yml": gitlab_yml,
  "upload.sh": upload_sh,
  "grafana.json": grafana_json,
  "alerts.yaml": alerts_yaml,
  "SKILL.md": SKILL_md,
};
