/**
 * `deno run -A --config tests/deno.json tools/npm_package.ts NAME`: packs the program as an npm package
 * into `dist/packed/`. It contains the bundle and depends on the package `deno`, the runtime. NAME is
 * scoped, such as `@acme/test-analytics`: the name `test-analytics` is taken in the registry.
 */
import { join } from "node:path";
import { VERSION } from "../lib/base/version.ts";
import { BUNDLE_FILE, LICENCES_FILE } from "./build.ts";
import { ROOT } from "./packages.ts";
import { PERMISSIONS, V8_FLAGS } from "./permissions.ts";

/** What starts the program. */
const STARTER_FILE = "start.cjs";

const STARTER = `#!/usr/bin/env node
// Runs the program with the runtime of the package deno.
const { spawn } = require("node:child_process");
const { join } = require("node:path");
const { runInstall } = require("deno/install_api.cjs");

const flags = ${
  JSON.stringify(["--quiet", "--no-config", "--no-lock", "--unstable-net", V8_FLAGS])
};
const permissions = ${JSON.stringify(PERMISSIONS)};
const program = join(__dirname, ${JSON.stringify(BUNDLE_FILE)});
const child = spawn(
  runInstall(),
  ["run", ...flags, ...permissions, program, ...process.argv.slice(2)],
  { stdio: "inherit", env: { ...process.env, DENO_NO_UPDATE_CHECK: "1" } },
);
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
for (const signal of signals) process.on(signal, () => child.kill(signal));
child.on("error", (error) => {
  console.error(\`error: the runtime cannot be started: \${error.message}\`);
  process.exit(1);
});
child.on("exit", (code, signal) => {
  for (const signal of signals) process.removeAllListeners(signal);
  if (signal) process.kill(process.pid, signal);
  else process.exit(code);
});
`;

/**
 * Packs the package.
 *
 * @param dist the folder with the bundle and the licences, where the package goes as well
 * @param options.repository URL of the git repository, which provenance is checked against
 * @returns the path of the packed file
 * @throws {Error} when something is missing
 */
export async function packNpm(
  name: string,
  dist: string,
  { repository = "" }: { repository?: string } = {},
): Promise<string> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-npm-" });
  try {
    await Deno.writeTextFile(
      join(folder, "package.json"),
      JSON.stringify(
        {
          name,
          version: VERSION,
          description: "Flaky-test analytics for CI: stores test reports and serves an HTTP API",
          license: "MIT",
          ...repository && { repository: { type: "git", url: `git+${repository}.git` } },
          bin: { "test-analytics": STARTER_FILE },
          dependencies: { deno: Deno.version.deno },
          os: ["linux", "darwin"],
          engines: { node: ">=18" },
        },
        null,
        2,
      ),
    );
    await Deno.writeTextFile(join(folder, STARTER_FILE), STARTER, { mode: 0o755 });
    for (const file of [BUNDLE_FILE, LICENCES_FILE]) {
      await Deno.copyFile(join(dist, file), join(folder, file));
    }
    for (const file of ["README.md", "LICENSE"]) {
      await Deno.copyFile(join(ROOT, file), join(folder, file));
    }
    const packed = join(dist, "packed");
    await Deno.mkdir(packed, { recursive: true });
    const { success, stdout, stderr } = await new Deno.Command("npm", {
      args: ["pack", "--json", "--pack-destination", packed],
      cwd: folder,
    }).output();
    if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
    const [{ filename }] = JSON.parse(new TextDecoder().decode(stdout));
    return join(packed, filename.replace("@", "").replace("/", "-"));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

if (import.meta.main) {
  const [name = "", repository = ""] = Deno.args;
  if (!/^@[\w.-]+\/[\w.-]+$/.test(name)) throw new Error(`"${name}": expected @SCOPE/NAME`);
  const path = await packNpm(name, join(ROOT, "dist"), { repository });
  Deno.stdout.writeSync(new TextEncoder().encode(`${path}\n`));
}
