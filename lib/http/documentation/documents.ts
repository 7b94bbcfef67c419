// Tests: tests/routes/guides_test.ts
/** The documents that are served below `/docs`: guides and reference, and the files that they refer to. */
import titles from "./generated/titles.json" with { type: "json" };

/** Titles by the paths below `docs/`, without extension. */
export const DOCUMENT_TITLES: Readonly<Record<string, string>> = titles;

/** Paths below `docs/`, and in the addresses of the pages; without extension. */
export const DOCUMENT_PATHS: readonly string[] = Object.keys(titles).filter((path) =>
  path !== "README"
);

/** Where the files are in the project, by their names below `docs/files/`. */
export const FILE_PATHS: Readonly<Record<string, string>> = {
  "action.yml": "deploy/ci/action.yml",
  "gitlab.yml": "deploy/ci/gitlab.yml",
  "upload.sh": "deploy/ci/upload.sh",
  "grafana.json": "deploy/grafana.json",
  "alerts.yaml": "deploy/alerts.yaml",
  "SKILL.md": "skills/test-analytics/SKILL.md",
};
