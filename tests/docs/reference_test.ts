import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { describedParameters } from "../../tools/documentation/description.ts";
import { EXIT } from "../../lib/cli/help.ts";
import { openapiDocument } from "../../tools/documentation/openapi.ts";
import { pathTemplate } from "../../tools/documentation/description.ts";
import { fieldsOf, RECORD_TYPES } from "../../lib/export/records.ts";
import { routes } from "../../routes/mod.ts";
import { FORMAT_NAMES } from "../../lib/report/coverage/formats.ts";
import { CAUSE_RULES } from "../../lib/analysis/cause_rules.ts";
import { failureCause } from "../../lib/analysis/failure_groups.ts";
import { leafCommands, SHARED_OPTIONS } from "../usage_lines.ts";
import {
  COMMAND_LINE_FILE,
  markedParts,
  REGENERATE,
} from "../../tools/documentation/reference_files.ts";
import { JUNIT_FILE, junitParts } from "../../tools/documentation/junit_tables.ts";
import { markPattern } from "../../tools/documentation/marks.ts";

const api = await Deno.readTextFile(
  new URL("../../docs/reference/api.md", import.meta.url),
);
const commandLine = await Deno.readTextFile(COMMAND_LINE_FILE);
const exports = await Deno.readTextFile(
  new URL("../../docs/reference/export.md", import.meta.url),
);
const failureGroups = await Deno.readTextFile(
  new URL("../../docs/reference/failure_groups.md", import.meta.url),
);

/** Ignores line wrapping and the width of table columns. */
function plain(text: string): string {
  return text.replaceAll(/\s+/g, " ").replaceAll(/-{3,}/g, "---").trim();
}

describe("the reference of the HTTP API", () => {
  it("lists every route with its summary", () => {
    const rows = [...api.matchAll(/^\| `(\/[^`]*)` \| (.*) \|$/gm)].map(([, ...cells]) => cells);
    assert.deepEqual(rows, routes.map(({ path, summary }) => [pathTemplate(path), summary]));
  });

  it("has the paths, parameters and defaults of the route table", () => {
    type Row = [name?: string, place?: string, preset?: string];
    const listedIn = (chapter: string) =>
      [...chapter.matchAll(/^- `(\w+)` \((path|query), .*?(?:default `(\S+)`)?\): /gm)]
        .map(([, name, place, preset]): Row => [name, place, preset]);
    const byName = (rows: Row[]) => rows.toSorted(([a = ""], [b = ""]) => a < b ? -1 : 1);
    const [, common = ""] = /^## Common parameters$([^]*?)^## /m.exec(api) ?? [];
    for (const route of routes) {
      const [, rest = ""] = api.split(`\`GET ${pathTemplate(route.path)}\`\n`);
      const [chapter = ""] = rest.split(/^##/m);
      const [, names = ""] = /^Common parameters: (.*)\.$/m.exec(chapter) ?? [];
      const named = listedIn(common).filter(([name]) => names.split(", ").includes(`\`${name}\``));
      assert.deepEqual(
        byName([...listedIn(chapter), ...named]),
        byName(
          describedParameters(route).map(({ name, place, jsonSchema }) => [
            name,
            place,
            jsonSchema.default === undefined ? undefined : String(jsonSchema.default),
          ]),
        ),
        route.path,
      );
    }
  });

  it("has every status of the OpenAPI document", () => {
    const { paths } = openapiDocument(routes) as unknown as {
      paths: Record<string, { get: { responses: Record<string, unknown> } }>;
    };
    const statuses = new Set(Object.values(paths).flatMap(({ get }) => Object.keys(get.responses)));
    const errors = [...statuses].map(Number).filter((status) => status >= 400).sort();
    const documented = [...api.matchAll(/^\| (\d+) +\|/gm)].map(([, status]) => Number(status));
    assert.deepEqual(errors, documented);
    for (const status of statuses) assert.match(api, new RegExp(`\\b${status}\\b`));
  });
});

describe("the reference of JUnit reports", () => {
  it("has the tables of the dialects and of the laboratory", async () => {
    const text = await Deno.readTextFile(JUNIT_FILE);
    for (const [name, part] of Object.entries(await junitParts())) {
      const written = markPattern(name).exec(text)?.groups?.part ?? "";
      assert.equal(plain(written), plain(part), `regenerate ${name} with: ${REGENERATE}`);
    }
  });
});

describe("the reference of the command line", () => {
  it("has every command, argument, option and environment variable", () => {
    for (const [name, part] of Object.entries(markedParts())) {
      const written = markPattern(name).exec(commandLine)?.groups?.part ?? "";
      assert.equal(plain(written), plain(part), `regenerate ${name} with: ${REGENERATE}`);
    }
  });

  it("has the descriptions of --help", () => {
    const text = plain(commandLine);
    for (const { path, command } of leafCommands()) {
      assert.ok(text.includes(`### ${path} ${command.summary() || command.description()}`), path);
      for (const { long } of command.options) {
        const isShared = SHARED_OPTIONS.includes(long ?? "");
        assert.ok(text.includes(isShared ? `\`${long}\`` : `\`${long}`), `${path} ${long}`);
      }
    }
  });

  it("lists the coverage formats", () => {
    const list = `recognized by content: ${FORMAT_NAMES.join(", ")}.`;
    assert.ok(plain(commandLine).includes(list), list);
  });

  it("explains every exit code", () => {
    for (const code of Object.values(EXIT)) {
      assert.match(commandLine, new RegExp(`\\b${code}: \\w`));
    }
  });
});

describe("the reference of failure groups", () => {
  const rows = [
    ...failureGroups.matchAll(/^\| ([^|]+?) +\| `([^|]+)` +\| (?:`([^|]+)`|stays) +\|$/gm),
  ]
    .map(([, rule, example, result]) => ({ rule: rule!, example: example!, result }));

  it("has every rule, in their order", () => {
    assert.deepEqual(
      [...new Set(rows.map(({ rule }) => rule))],
      CAUSE_RULES.map(({ name }) => name),
    );
  });

  it("shows the cause of a message, and needs its rule", () => {
    for (const { rule, example, result } of rows) {
      assert.equal(failureCause(example, ""), result ?? example);
      const { pattern } = CAUSE_RULES.find(({ name }) => name === rule)!;
      assert.match(example, new RegExp(pattern, "i"));
    }
  });
});

describe("the reference of exports", () => {
  it("has every type of record in their order, with its fields", () => {
    const rows = [...exports.matchAll(/^\| `(\w+)` +\| (`.*) \|$/gm)];
    assert.deepEqual(
      rows.map(([, type, fields]) => [
        type,
        [...fields!.replaceAll(/\(.*?\)/g, "").matchAll(/`(\w+)`/g)].map(([, name]) => name),
      ]),
      RECORD_TYPES.map((type) => [type, fieldsOf(type).slice(1)]),
    );
    for (const type of RECORD_TYPES) {
      assert.match(exports, new RegExp(`^\\| \`${type}\` +\\| \\w`, "m"));
    }
  });
});
