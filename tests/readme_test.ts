import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { templateOf } from "../lib/http/openapi/document.ts";
import { routes } from "../routes/mod.ts";
import { describeWithDatabases } from "./database.ts";
import { commandLine } from "./lib/cli/run_in_process.ts";
import { SHARED_OPTIONS, usageLines } from "./usage_lines.ts";

const readme = await Deno.readTextFile(new URL("../README.md", import.meta.url));

describe("the README", () => {
  it("shows every command with all its options", () => {
    const block = /```\n(serve[^]*?)```/.exec(readme)?.[1] ?? "";
    assert.deepEqual(block.trim().replaceAll(/\n +/g, " ").split("\n"), usageLines());
  });

  it("names what every command takes", () => {
    for (const option of SHARED_OPTIONS) assert.ok(readme.includes(`\`${option}\``), option);
  });

  it("opens with the two commands, then the pictures, then the endpoints", () => {
    const marks = [
      "npx -y deno@2.9.6 task demo",
      "npx -y deno@2.9.6 task test",
      "(docs/pictures/flakiness.svg)",
      "(docs/pictures/session.svg)",
      "| `/health`",
      "(docs/README.md)",
    ];
    const places = marks.map((mark) => readme.indexOf(mark));
    assert.ok(!places.includes(-1), String(places));
    assert.deepEqual(places, places.toSorted((a, b) => a - b));
  });

  it("lists every endpoint", () => {
    const rows = [...readme.matchAll(/^\| ([A-Z]+) +\| `(\/[^`]*)` +\| (.*?) +\|$/gm)]
      .map(([, ...cells]) => cells);
    assert.deepEqual(
      rows,
      routes.map(({ method, path, summary }) => [method, templateOf(path), summary]),
    );
  });

  it("shows tasks that exist", async () => {
    const { tasks } = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
    for (const [, name = ""] of readme.matchAll(/(?:deno|deno@[\d.]+) task (\w+)/g)) {
      assert.ok(name in tasks, name);
    }
  });
});

describeWithDatabases("the README", (database) => {
  const cli = commandLine(() => database());

  it("leads from nothing to an answer", async () => {
    const lines = [...readme.matchAll(/^deno task cli (.+)$/gm)].map(([, line = ""]) => line);
    assert.equal(lines.length, 3);
    for (const line of lines) {
      const argv = line.replace('"$(git rev-parse HEAD)"', "c0ffee0")
        .replace("fixtures/demo/", fileURLToPath(new URL("../fixtures/demo", import.meta.url)));
      const { code, stderr } = await cli(argv);
      assert.deepEqual([code, stderr], [0, ""], line);
    }
  });
});
