import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { SETTINGS } from "../../lib/base/config.ts";
import { leafCommands } from "../usage_lines.ts";

const guide = await Deno.readTextFile(
  new URL("../../docs/guides/observability.md", import.meta.url),
);

describe("the monitoring guide", () => {
  it("shows commands and options that exist", () => {
    const lines = [...guide.matchAll(/^test-analytics (.+)$/gm)].map(([, line = ""]) => line);
    assert.ok(lines.length >= 3);
    for (const line of lines) {
      const [name = "", ...rest] = line.split(" ");
      const found = leafCommands().find(({ path }) => path === name);
      assert.ok(found, line);
      const options = found.command.options.map(({ long }) => long);
      for (const word of rest) if (word.startsWith("--")) assert.ok(options.includes(word), line);
    }
  });

  it("has the default limits", () => {
    for (
      const [, name = "", bound = ""] of guide.matchAll(/`([A-Z]+_[A-Z_]+)`, (?:about )?([\d,]+)/g)
    ) {
      const setting = SETTINGS.find((each) => each.name === name);
      assert.ok(setting, name);
      const value = Number(bound.replace(",", "")) * (name.endsWith("_MS") ? 1000 : 1);
      assert.equal(Number(setting.default), value, name);
    }
  });

  it("lists every message of the log", async () => {
    const folders = [
      "http/server",
      "http/request",
      "cli/commands",
      "intake",
      "intake/receive",
      "webhook_sender",
    ];
    for (const folder of folders.map((name) => `lib/${name}`)) {
      for await (const { name } of Deno.readDir(new URL(`../../${folder}/`, import.meta.url))) {
        if (!name.endsWith(".ts")) continue;
        const text = await Deno.readTextFile(new URL(`../../${folder}/${name}`, import.meta.url));
        for (const [, message = ""] of text.matchAll(/log\.(?:info|warn|error)\(\s*"([^"]+)"/g)) {
          // Printed once at start, and described below "OpenTelemetry".
          if (message.startsWith("log lines are not exported")) continue;
          assert.ok(guide.includes(`\`${message}\``), `${folder}/${name}: ${message}`);
        }
      }
    }
  });
});
