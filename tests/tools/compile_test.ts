import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CI_NAMES } from "../../lib/ci/variables.ts";
import { compile, TARGETS } from "../../tools/compile.ts";
import { PERMISSIONS, VARIABLES } from "../../tools/permissions.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

async function inFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-compile-" });
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

describe("the compiled program", () => {
  it("carries the whole bundle and its permissions", async () => {
    await inFolder(async (folder) => {
      const bundle = join(folder, "test-analytics.js");
      const text = "console.log('the bundle stands in for itself');\n";
      await Deno.writeTextFile(bundle, text);
      const output = join(folder, "test-analytics");
      // The base binary is not to be had everywhere. This program in its place cannot be run, but
      // shows what is put behind it.
      const env = { DENORT_BIN: Deno.execPath() };
      await compile(bundle, { platform: "linux-x64", output, env });
      const bytes = new TextDecoder("latin1").decode(await Deno.readFile(output));
      assert.ok(bytes.includes(text), "expected the bundle to be inside");
      const [, packed = "{}"] = /"permissions":(\{.*?\})/s.exec(bytes) ?? [];
      // What Deno allows to be imported unless told otherwise; `deny_import` wins.
      const { allow_import: _hosts, ...permissions } = JSON.parse(packed);
      const given = Object.entries(permissions).filter(([, value]) => value !== null);
      assert.deepEqual(Object.fromEntries(given), {
        // An empty list allows everything, or ignores it.
        allow_net: [],
        allow_read: [],
        allow_write: [],
        allow_run: ["git", "sh"],
        allow_sys: ["hostname", "statfs", "uid", "userInfo"],
        allow_env: VARIABLES,
        ignore_env: [],
        deny_import: [],
        prompt: false,
      });
    });
  });

  it("says which base binary is missing, and what to do", async () => {
    await inFolder(async (folder) => {
      const bundle = join(folder, "test-analytics.js");
      await Deno.writeTextFile(bundle, "");
      // An empty cache, and nothing listens at the address of the proxy.
      const env = { DENO_DIR: join(folder, "cache"), HTTPS_PROXY: "http://127.0.0.1:1" };
      await assert.rejects(
        compile(bundle, { platform: "macos-arm64", output: join(folder, "out"), env }),
        /macos-arm64: the base binary cannot be fetched from https:\/\/dl\.deno\.land\/.*DENORT_BIN/,
      );
    });
  });

  it("is made for every platform that the release workflow names", async () => {
    const workflow = await Deno.readTextFile(join(ROOT, ".github/workflows/release.yml"));
    const named = [...workflow.matchAll(/platform: ([\w-]+)/g)].map(([, name]) => name);
    assert.deepEqual(named.sort(), Object.keys(TARGETS).sort());
  });
});

describe("the permissions", () => {
  it("hold every environment variable that the sources read by name", async () => {
    const names = new Set<string>();
    for (const folder of ["lib", "db", "routes"]) {
      for await (const file of sources(join(ROOT, folder))) {
        const text = await Deno.readTextFile(file);
        const reads = /(?:\benv\.|\benvironment\.|\bget\(")([A-Z][A-Z0-9_]+)/g;
        for (const [, name = ""] of text.matchAll(reads)) names.add(name);
      }
    }
    for (const name of CI_NAMES) names.add(name);
    for (const name of ["GITHUB_REF", "XDG_RUNTIME_DIR", "OTEL_DENO"]) assert.ok(names.has(name));
    assert.deepEqual([...names].filter((name) => !VARIABLES.includes(name)), []);
  });

  it("stand in the reference", async () => {
    const page = await Deno.readTextFile(join(ROOT, "docs/reference/permissions.md"));
    for (const permission of PERMISSIONS) {
      const flag = permission.replace(/^(--allow-(?:env|sys)=).*/, "$1...");
      assert.ok(page.includes(`| \`${flag}\` `), flag);
    }
  });
});

async function* sources(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = join(folder, name);
    if (isDirectory) yield* sources(path);
    else if (name.endsWith(".ts")) yield path;
  }
}
