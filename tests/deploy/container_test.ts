import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { lastStage } from "../../tools/container/image.ts";
import { readOptions } from "../../tools/container/main.ts";

const dockerfile = await Deno.readTextFile(new URL("../../deploy/Dockerfile", import.meta.url));

describe("the image that `deno run -A --config tests/deno.json tools/container/main.ts` builds", () => {
  const stage = (hasBinary: boolean) =>
    lastStage(dockerfile, { base: "localhost/base", hasBinary });
  /** Without the lines that may differ: base, copied files, how the program is started. */
  const rest = (text: string) =>
    text.split("\n").filter((line) => !/^(FROM|COPY|ENTRYPOINT|HEALTHCHECK) /.test(line));

  it("is the last stage of the Dockerfile, with files of the folder of the build", () => {
    const last = `FROM ${dockerfile.split(/^FROM /m).at(-1)}`;
    for (const hasBinary of [true, false]) {
      const text = stage(hasBinary);
      assert.deepEqual(rest(text), rest(last));
      assert.ok(!text.includes("--from="));
      assert.match(text, /^FROM localhost\/base$/m);
      assert.match(text, /^COPY --chown=nonroot:nonroot volume\/ \/$/m);
      assert.match(text, /^COPY LICENSE THIRD_PARTY_LICENSES.txt \/usr\/share\/doc\//m);
    }
    assert.match(stage(true), /^COPY test-analytics \/usr\/local\/bin\/test-analytics$/m);
    assert.match(stage(true), /^ENTRYPOINT \["\/usr\/local\/bin\/test-analytics"\]$/m);
  });

  it("runs the bundle with the permissions of the binary when there is none", () => {
    const text = stage(false);
    assert.match(text, /^COPY deno \/usr\/local\/bin\/deno$/m);
    assert.match(text, /^ENTRYPOINT \[.*"--ignore-env", "--deny-import", "\S+\.js"\]$/m);
    assert.match(text, /^HEALTHCHECK .* CMD \[.*"\S+\.js", "healthcheck"\]$/m);
  });
});

describe("the options of `deno run -A --config tests/deno.json tools/container/main.ts`", () => {
  it("name a base and a binary, or neither", () => {
    assert.deepEqual(readOptions([]), { base: null, binary: null });
    assert.deepEqual(readOptions(["--base", "gcr.io/a:b", "--binary", "dist/a"]), {
      base: "gcr.io/a:b",
      binary: "dist/a",
    });
    assert.throws(() => readOptions(["--bases"]));
  });
});
