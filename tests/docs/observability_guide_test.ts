import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { SETTINGS } from "../../lib/base/config.ts";
import { leafCommands } from "../usage_lines.ts";

const guide = await Deno.readTextFile(
  new URL("../../docs/guides/observability.md", import.meta.url),
);

describe("the guide to observability", () => {
  it("shows commands and options that there are", () => {
    const lines = [...guide.matchAll(/^test-analytics (.+)$/gm)].map(([, line = ""]) => line);
    assert.ok(lines.length >= 4);
    for (const line of lines) {
      const [name = "", ...rest] = line.split(" ");
      const found = leafCommands().find(({ path }) => path === name);
      assert.ok(found, line);
      const options = found.command.options.map(({ long }) => long);
      for (const word of rest) if (word.startsWith("--")) assert.ok(options.includes(word), line);
    }
  });

  it("tells the bounds that hold by default", () => {
    for (
      const [, name = "", bound = ""] of guide.matchAll(/`([A-Z]+_[A-Z_]+)`, (?:about )?([\d,]+)/g)
    ) {
      const setting = SETTINGS.find((each) => each.name === name);
      assert.ok(setting, name);
      const value = Number(bound.replace(",", "")) * (name.endsWith("_MS") ? 1000 : 1);
      assert.equal(Number(setting.default), value, name);
    }
  });

  it("names every message that the log can have", async () => {
    for (
      const path of [
        "lib/http/server/server.ts",
        "lib/http/request/dispatch.ts",
        "lib/cli/commands/serve.ts",
      ]
    ) {
      const text = await Deno.readTextFile(new URL(`../../${path}`, import.meta.url));
      for (const [, message = ""] of text.matchAll(/log\.(?:info|warn|error)\("([^"]+)"/g)) {
        if (message.startsWith("log lines are not exported")) continue;
        assert.ok(guide.includes(`\`${message}\``), message);
      }
    }
  });
});
