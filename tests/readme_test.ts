import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { describeWithDatabases } from "./database.ts";
import { firstSteps } from "../tools/documentation/pictures.ts";
import { commandLine } from "./lib/cli/run_in_process.ts";

const readme = await Deno.readTextFile(new URL("../README.md", import.meta.url));

describe("the README", () => {
  it("has a picture, then two commands, then the first steps, then links", () => {
    const marks = [
      '"docs/pictures/repository.webp"',
      "npx -y deno@2.9.6 task demo",
      "npx -y deno@2.9.6 task test",
      "npx -y deno@2.9.6 task cli org",
      "(docs/pictures/session.svg)",
      "(docs/reference/api.md)",
      "(docs/README.md)",
    ];
    const positions = marks.map((mark) => readme.indexOf(mark));
    assert.ok(!positions.includes(-1), String(positions));
    assert.deepEqual(positions, positions.toSorted((a, b) => a - b));
  });

  it("has tasks that exist, with the Deno version of the gate", async () => {
    const { tasks } = JSON.parse(await Deno.readTextFile(new URL("../deno.json", import.meta.url)));
    const gate = await Deno.readTextFile(new URL("../.ci/run", import.meta.url));
    const [runtime = ""] = /npx -y deno@[\d.]+/.exec(gate) ?? [];
    for (
      const [, command = "", task = ""] of readme.matchAll(/^(?:\w+=\$\()?(.*?) task (\w+)/gm)
    ) {
      assert.equal(command, runtime);
      assert.ok(task in tasks, task);
    }
  });
});

describeWithDatabases("the first steps in the README", (database) => {
  const cli = commandLine(() => database());

  it("store a submission and create a token", async () => {
    const { org, ingest, token } = firstSteps(readme);
    const argumentsOf = (line: string) =>
      line.replace(/^(TOKEN=\$\()?test-analytics /, "").replace(/\)$/, "")
        .replace('"$(git rev-parse HEAD)"', "c0ffee1")
        .replace("fixtures/demo/", fileURLToPath(new URL("../fixtures/demo", import.meta.url)));
    for (const line of [org, ingest, token]) {
      const { code, stderr } = await cli(argumentsOf(line));
      assert.equal(code, 0, stderr);
    }
  });
});
