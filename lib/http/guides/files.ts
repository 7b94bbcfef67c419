// Tests: tests/routes/guides_test.ts
/** Files that the guides refer to: where they are in the project, by their names below `docs/files/`. */
export const FILE_PATHS: Readonly<Record<string, string>> = {
  "action.yml": "deploy/ci/action.yml",
  "gitlab.yml": "deploy/ci/gitlab.yml",
  "upload.sh": "deploy/ci/upload.sh",
  "grafana.json": "deploy/grafana.json",
  "alerts.yaml": "deploy/alerts.yaml",
  "SKILL.md": "skills/test-analytics/SKILL.md",
};
