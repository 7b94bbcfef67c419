import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { copyTemplate } from "../database.ts";
import { REGENERATE, SESSION_FILE, sessionPicture } from "../../tools/documentation/pictures.ts";
import {
  COLUMNS,
  MAX_ROWS,
  terminalPicture,
  wrapCommand,
} from "../../tools/documentation/terminal_picture.ts";

describe("the picture of a session", () => {
  it("shows what the README's first steps print today", async () => {
    const dataDir = await copyTemplate();
    try {
      assert.equal(
        await sessionPicture(dataDir),
        await Deno.readTextFile(SESSION_FILE),
        `regenerate with: ${REGENERATE}`,
      );
    } finally {
      await Deno.remove(dataDir, { recursive: true });
    }
  });

  it("shows no token", async () => {
    assert.doesNotMatch(await Deno.readTextFile(SESSION_FILE), /tk_[0-9a-f]/);
  });
});

describe("a picture of a terminal", () => {
  it("escapes markup", () => {
    const svg = terminalPicture([{ kind: "typed", text: `<b a="1">&` }], `"<>&`);
    assert.ok(svg.includes(">&lt;b a=&quot;1&quot;&gt;&amp;</text>"));
    assert.ok(svg.includes(`aria-label="&quot;&lt;&gt;&amp;"`));
  });

  it("expands tabs to 8 columns", () => {
    const svg = terminalPicture([{ kind: "output", text: "0.5\tone" }], "tabs");
    const columns = [...svg.matchAll(/<text x="([\d.]+)"/g)].map(([, x]) => Number(x));
    assert.equal(columns.length, 2);
    assert.equal(columns[1]! - columns[0]!, 8 * 8.4);
  });

  it("rejects text that does not fit", () => {
    const output = (text: string) => () => terminalPicture([{ kind: "output", text }], "full");
    output("x".repeat(COLUMNS))();
    assert.throws(output("x".repeat(COLUMNS + 1)), /is too long: expected at most 80 characters/);
    assert.throws(output("\n".repeat(MAX_ROWS)), /25 rows: expected at most 24/);
  });

  it("breaks commands between arguments, never inside quotes or before a value", () => {
    assert.deepEqual(wrapCommand(`ask --size 10 --name "a b" c | sort -r 'd e'`, 22), [
      "ask --size 10 \\",
      `  --name "a b" c \\`,
      "  | sort -r 'd e'",
    ]);
  });
});
