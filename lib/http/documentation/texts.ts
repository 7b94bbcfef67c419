// Tests: tests/routes/docs_test.ts tests/routes/guides_test.ts
/** The texts of the documentation. Loaded with the first request for one. */
import action from "../../../deploy/ci/action.yml" with { type: "text" };
import gitlab from "../../../deploy/ci/gitlab.yml" with { type: "text" };
import upload from "../../../deploy/ci/upload.sh" with { type: "text" };
import grafana from "../../../deploy/grafana.json" with { type: "text" };
import alerts from "../../../deploy/alerts.yaml" with { type: "text" };
import openapi from "../../../docs/openapi.yaml" with { type: "text" };
import reference from "../../../docs/reference/api.md" with { type: "text" };
import skill from "../../../skills/test-analytics/SKILL.md" with { type: "text" };
import documents from "./generated/documents.html" with { type: "text" };

/** The API as an OpenAPI document, and in prose. */
export const API: { readonly openapi: string; readonly reference: string } = { openapi, reference };

/** Files that the guides refer to, by name. */
export const FILES: Readonly<Record<string, string>> = {
  "action.yml": action,
  "gitlab.yml": gitlab,
  "upload.sh": upload,
  "grafana.json": grafana,
  "alerts.yaml": alerts,
  "SKILL.md": skill,
};

/**
 * HTML of the documents by their paths below `docs/`, without extension. Addresses of this service begin with
 * `page:`.
 */
export const DOCUMENTS: Readonly<Record<string, string>> = Object.fromEntries(
  documents.split(/^<!-- (.*) -->\n/m).slice(1)
    .flatMap((path, index, parts) => index % 2 === 0 ? [[path, parts[index + 1]!]] : []),
);
