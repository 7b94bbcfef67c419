import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { requireSharedPorts } from "../../../lib/cli/commands/serve_check.ts";

describe("sharing a port", () => {
  it("is possible on Linux, from source", () => {
    assert.doesNotThrow(() => requireSharedPorts("linux", true));
  });

  it("is refused on other systems, where it would share nothing", () => {
    for (const os of ["darwin", "windows"]) {
      assert.throws(
        () => requireSharedPorts(os, true),
        new RegExp(`needs Linux, found ${os}: use a port for each process and a proxy`),
      );
    }
  });

  it("is refused with the flag to start Deno with, instead of a sudden end", async () => {
    assert.throws(
      () => requireSharedPorts("linux", false),
      /start it with `deno run --unstable-net /,
    );
    if (Deno.build.os !== "linux") return;
    const main = fileURLToPath(new URL("../../../main.ts", import.meta.url));
    const map = JSON.parse(
      await Deno.readTextFile(new URL("../../../deno.json", import.meta.url)),
    );
    // The same imports, without what the configuration says of unstable parts.
    const imports = await Deno.makeTempFile({ suffix: ".json" });
    try {
      await Deno.writeTextFile(imports, JSON.stringify({ imports: map.imports }));
      const { code, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "-A", "--no-config", "--no-lock", "--import-map", imports, main],
          ...["serve", "--port", "0", "--reuse-port", "--check"],
        ],
        stdout: "null",
        stderr: "piped",
      }).output();
      assert.equal(code, 1);
      assert.match(
        new TextDecoder().decode(stderr),
        /^error: --reuse-port .* needs --unstable-net/m,
      );
    } finally {
      await Deno.remove(imports);
    }
  });
});
