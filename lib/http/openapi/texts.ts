/** Title, summary and general rules of the API. */
import rules from "./rules.md" with { type: "text" };

export const API_TITLE = "Test Analytics Platform";

export const API_SUMMARY = "Read-only analytics of CI test results";

/** The rules that all endpoints share, as Markdown with headings of level 2. */
export const GENERAL_RULES: string = rules.trimEnd();

/** Markdown with headings of level 3, for the OpenAPI document and the page. */
export const API_DESCRIPTION: string =
  "Which tests are flaky, since when, and how often, counted from the results that CI runs upload.\n\n" +
  rules.replaceAll(/^## /gm, "### ");
