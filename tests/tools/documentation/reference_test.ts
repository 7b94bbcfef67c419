import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import * as v from "valibot";
import { BADGE_FILLS } from "../../../lib/badge/badge.ts";
import {
  describedParameters,
  documentedRoutes as routes,
  pathTemplate,
} from "../../../tools/documentation/description.ts";
import { llmsText } from "../../../tools/documentation/reference.ts";
import { INCLUDE_NAMES } from "../../../routes/test_fields.ts";
import {
  MAX_FILTER_CHARACTERS,
  MAX_FILTER_PATTERNS,
} from "../../../lib/query/submission_filter.ts";
import { MAX_QUERY_CHARACTERS } from "../../../lib/query/parse.ts";
import { MAX_OFFSET } from "../../../lib/base/cursor.ts";
import { MAX_LIMIT } from "../../../lib/http/request/parameters.ts";

const text = llmsText(routes);

/** The chapter of one endpoint. */
function chapterOf(path: string): string {
  const [, rest = ""] = text.split(`\`GET ${pathTemplate(path)}\`\n`);
  return rest.split(/^##/m)[0] ?? "";
}

describe("the prose reference", () => {
  it("has a chapter for every route, with an example request and response", () => {
    for (const { path, description, response } of routes) {
      const chapter = chapterOf(path);
      assert.ok(chapter.includes(description), path);
      assert.match(chapter, /```sh\ncurl .*"\$BASE_URL\/.*"\n```/, path);
      if (response.example !== undefined) {
        const [, example] = /```sh\n.*\n```\n\n```(?:json)?\n([^]*?)\n```/.exec(chapter) ?? [];
        const expected = response.example;
        assert.ok(example, path);
        if (typeof expected === "string") assert.equal(example, expected.trim(), path);
        else assert.deepEqual(JSON.parse(example), expected, path);
      }
    }
  });

  it("has every parameter with its description, default and example, or names it as a common one", () => {
    const [, common = ""] = /^## Common parameters$([^]*?)^## /m.exec(text) ?? [];
    for (const route of routes) {
      const chapter = chapterOf(route.path);
      for (
        const { name, required, description, jsonSchema, example } of describedParameters(route)
      ) {
        const [, names = ""] = /^Common parameters: (.*)\.$/m.exec(chapter) ?? [];
        const isCommon = names.split(", ").includes(`\`${name}\``);
        const lines = (isCommon ? common : chapter).split("\n")
          .filter((line) => line.startsWith(`- \`${name}\` (`));
        const line = lines.find((line) => line.includes(`${description}.`)) ?? "";
        assert.ok(line.includes(`${description}.`), `${name} of ${route.path}`);
        assert.ok(line.includes(required ? "required" : "optional"), line);
        assert.ok(line.includes(`\`${example}\``), line);
        const { default: preset } = jsonSchema;
        if (preset !== undefined) assert.ok(line.includes(`default \`${preset}\``), line);
      }
    }
  });

  it("shows valid requests", () => {
    for (const route of routes) {
      const match = /\$BASE_URL[^"?]*\??([^"]*)"/.exec(chapterOf(route.path));
      assert.ok(match, route.path);
      const [, search = ""] = match;
      const raw = Object.fromEntries(new URLSearchParams(search));
      assert.ok(v.is(route.query, raw), `${route.path}?${search}`);
    }
  });

  it("has every value of include, and every field that one can add", () => {
    const chapter = chapterOf("/api/v1/flaky/tests");
    for (const name of INCLUDE_NAMES) {
      assert.match(
        chapter,
        new RegExp(`^- \`tests\\[\\]\\.${name}\` \\(.*with .include.\\): \\w`, "m"),
      );
    }
    for (const name of ["disruption_count", "first_disruption_at"]) {
      assert.ok(chapter.includes(`\`tests[].${name}\``), name);
    }
  });

  it("explains the colours of badges, and that builds are counted", () => {
    const [, badges = ""] = text.split("\n## Badges\n");
    const [chapter = ""] = badges.split("\n## ");
    for (const fill of Object.values(BADGE_FILLS)) assert.ok(chapter.includes(`\`${fill}\``), fill);
    assert.match(chapter, /counts builds, not tests/);
  });

  it("has the limits of parameters", () => {
    const [, limits = ""] = text.split("\n## Limits\n");
    const values = [...limits.matchAll(/^\| (.*?) +\| (.*?) +\|$/gm)].map(([, , value]) => value);
    for (
      const value of [
        `${MAX_LIMIT}`,
        `${MAX_QUERY_CHARACTERS} characters`,
        `${MAX_FILTER_CHARACTERS} characters, ${MAX_FILTER_PATTERNS} patterns`,
        `${MAX_OFFSET}`,
      ]
    ) assert.ok(values.includes(value), value);
    const listsOf = (size: number) =>
      routes.filter(({ query: { entries: { limit } } }) =>
        limit && (v.getMetadata(limit).jsonSchema as { default: number }).default === size
      ).map(({ operationId }) => operationId);
    assert.deepEqual(listsOf(10), ["listSubmissions", "listDisruptiveTests"]);
  });

  it("explains every status", () => {
    for (const status of [400, 401, 404, 405, 500]) {
      assert.match(text, new RegExp(`^\\| ${status} +\\| `, "m"));
    }
  });
});
