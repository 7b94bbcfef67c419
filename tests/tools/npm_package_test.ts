import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { basename, join } from "node:path";
import { VERSION } from "../../lib/base/version.ts";
import { BUNDLE_FILE, LICENCES_FILE } from "../../tools/build.ts";
import { packNpm } from "../../tools/npm_package.ts";

/** A program in place of the bundle: prints its arguments, or waits for a signal. */
const PROGRAM = `
  console.log(JSON.stringify(Deno.args));
  if (Deno.args[0] === "wait") {
    const timer = setTimeout(() => {}, 60_000);
    Deno.addSignalListener("SIGTERM", () => {
      clearTimeout(timer);
      Deno.exit(3);
    });
    console.log("ready");
  }
  if (Deno.args[0] === "fail") Deno.exit(2);
`;

describe("the npm package", () => {
  let folder: string;
  let packed: string;

  before(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-npm-" });
    await Deno.writeTextFile(join(folder, BUNDLE_FILE), PROGRAM);
    await Deno.writeTextFile(join(folder, LICENCES_FILE), "");
    packed = await packNpm("@acme/test-analytics", folder, {
      repository: "https://git.example/a/b",
    });
    const { success } = await new Deno.Command("tar", { args: ["-xzf", packed, "-C", folder] })
      .output();
    assert.ok(success);
    // In place of the runtime's package, which is 95 MB: the runtime of this test.
    const runtime = join(folder, "node_modules", "deno");
    await Deno.mkdir(runtime, { recursive: true });
    await Deno.writeTextFile(
      join(runtime, "install_api.cjs"),
      `module.exports = { runInstall: () => ${JSON.stringify(Deno.execPath())} };`,
    );
  });
  after(() => Deno.remove(folder, { recursive: true }));

  const start = (...args: string[]) =>
    new Deno.Command("node", {
      args: [join(folder, "package", "start.cjs"), ...args],
      stdout: "piped",
      stderr: "piped",
    });

  it("contains the program, its licences, and the version of the runtime that was tested", async () => {
    assert.equal(basename(packed), `acme-test-analytics-${VERSION}.tgz`);
    const files = [...Deno.readDirSync(join(folder, "package"))].map(({ name }) => name).sort();
    assert.deepEqual(files, [
      "LICENSE",
      "README.md",
      "THIRD_PARTY_LICENSES.txt",
      "package.json",
      "start.cjs",
      "test-analytics.js",
    ]);
    const manifest = JSON.parse(await Deno.readTextFile(join(folder, "package", "package.json")));
    assert.deepEqual(manifest.bin, { "test-analytics": "start.cjs" });
    assert.deepEqual(manifest.dependencies, { deno: Deno.version.deno });
    assert.equal(manifest.repository.url, "git+https://git.example/a/b.git");
  });

  it("passes arguments and exit codes on", async () => {
    const { code, stdout, stderr } = await start("fail", "--a", "b c").output();
    assert.equal(code, 2, new TextDecoder().decode(stderr));
    assert.equal(new TextDecoder().decode(stdout), '["fail","--a","b c"]\n');
  });

  it("passes signals on", async () => {
    const child = start("wait").spawn();
    const lines = child.stdout.pipeThrough(new TextDecoderStream());
    let text = "";
    for await (const part of lines) {
      text += part;
      if (text.endsWith("ready\n")) child.kill("SIGTERM");
    }
    await child.stderr.cancel();
    assert.equal((await child.status).code, 3);
  });
});
