import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "@std/testing/bdd";

const ROOT = new URL("../../", import.meta.url);

describe("the page of error classes", () => {
  it("has every class with its file", async () => {
    const classes: string[] = [];
    for (const folder of ["lib", "db", "routes"]) {
      for (const path of await readdir(new URL(folder, ROOT), { recursive: true })) {
        if (!path.endsWith(".ts")) continue;
        const file = `${folder}/${path}`;
        const text = await readFile(new URL(file, ROOT), "utf8");
        for (const [, name] of text.matchAll(/class (\w+) extends (?:\w*Error|Failure)\b/g)) {
          classes.push(`${name} ${file}`);
        }
      }
    }
    const page = await readFile(new URL("docs/reference/errors.md", ROOT), "utf8");
    const listed = [...page.matchAll(/^\| `(\w+)` +\| `([\w/.]+)`/gm)]
      .map(([, name, file]) => `${name} ${file}`);
    assert.deepEqual(listed.sort(), classes.sort());
  });
});
