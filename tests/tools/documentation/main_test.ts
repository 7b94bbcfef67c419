import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { generatedFiles } from "../../../tools/documentation/main.ts";

const ROOT = new URL("../../../", import.meta.url);

describe("the generated files of the documentation", () => {
  it("are current", async () => {
    const stale: string[] = [];
    for (const [path, text] of Object.entries(await generatedFiles())) {
      if (text !== await Deno.readTextFile(new URL(path, ROOT))) stale.push(path);
    }
    assert.deepEqual(stale, [], "regenerate with: deno task fix");
  });
});
