/** Processes of this version while a newer one migrates their database. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import config from "../../deno.json" with { type: "json" };
import process from "node:process";
import { openDatabase } from "../../db/connection/connect.ts";
import { migrations } from "../../db/schema/migrations/mod.ts";
import { copyTemplate, openTestServer } from "../database.ts";
import { archiveOf, reportOf } from "../lib/report/archive/make_archive.ts";
import { launch } from "./launch.ts";
import { prepare, runHere } from "./prepare.ts";
import { type ProgramLine, run, start } from "./program.ts";
import { waitUntil } from "../wait_until.ts";

const ROOT = new URL("../../", import.meta.url);
const VERSION = migrations.length;
const MIGRATIONS = new URL("db/schema/migrations/mod.ts", ROOT).href;

/** The program with one more migration, which renames a column that requests read. */
async function newerProgram(folder: string): Promise<ProgramLine> {
  const newer = join(folder, "migrations.ts");
  const list = [...migrations, "alter table repository rename column owner to proprietor"];
  await Deno.writeTextFile(newer, `export const migrations = ${JSON.stringify(list)};`);
  const importMap = join(folder, "import_map.json");
  // A configuration adds the paths within a package by itself, an import map does not.
  const packages = Object.entries(config.imports as Record<string, string>)
    .filter(([, target]) => target.startsWith("npm:"))
    .map(([name, target]) => [`${name}/`, `${target.replace("npm:", "npm:/")}/`]);
  const imports = {
    ...config.imports,
    ...Object.fromEntries(packages),
    [MIGRATIONS]: pathToFileURL(newer).href,
  };
  await Deno.writeTextFile(importMap, JSON.stringify({ imports }));
  const main = fileURLToPath(new URL("main.ts", ROOT));
  return { file: Deno.execPath(), args: ["run", "-A", "--import-map", importMap, main] };
}

describe("an upgrade while processes of the earlier version run", () => {
  it("ends them with one line, and leaves archives to the new version (embedded)", async () => {
    await withFolder((folder) => upgrade(folder, { DATA_DIR: folder }));
  });

  const server = process.env.TEST_DATABASE_URL ?? "";
  it("ends them the same way on a server", { skip: server === "" }, async () => {
    const { place, close } = await openTestServer(server);
    try {
      await withFolder((folder) => upgrade(folder, { DATABASE_URL: place.databaseUrl ?? "" }));
    } finally {
      await close();
    }
  });
});

async function withFolder(body: (folder: string) => Promise<void>): Promise<void> {
  const folder = await copyTemplate();
  try {
    await body(folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function upgrade(folder: string, environment: Record<string, string>): Promise<void> {
  const inbox = join(folder, "inbox");
  await Deno.mkdir(inbox);
  await prepare(environment, ["org create acme"]);
  const service = await start(["serve", "--port", "0"], environment);
  const watcher = launch(["watch", inbox, "--interval", "1s"], environment);
  await put(inbox, "before");
  const list = ["watch", inbox, "--list"];
  const isProcessed = async () => (await runHere(list, environment)).stdout.includes("processed");
  await waitUntil("the archive is processed", isProcessed, { pauseMs: 200 });

  const newer = await newerProgram(folder);
  const migrated = await run(["migrate"], environment, newer);
  assert.deepEqual([migrated.code, migrated.stdout], [0, `${VERSION + 1}\n`], migrated.stderr);
  await put(inbox, "after");
  const message = new RegExp(
    `error: the database has schema version ${VERSION + 1}, expected ${VERSION}: .*\n$`,
  );
  const watched = await watcher.ending;
  assert.equal(watched.code, 1);
  assert.match(watched.stderr, message);
  // It ends by itself.
  const served = await service.stop("SIGCONT");
  assert.equal(served.code, 1);
  assert.match(served.stderr, message);
  const { DATABASE_URL: databaseUrl, DATA_DIR: dataDir = "" } = environment;
  const { sql, close } = await openDatabase({ databaseUrl, dataDir });
  const archives = await sql`select key, status from archive`;
  await close();
  assert.deepEqual([...archives], [{ key: "before.gz", status: "processed" }]);
}

async function put(folder: string, key: string): Promise<void> {
  const bytes = await archiveOf([
    ["buildpulse.yml", `:commit: 4f2a9c1\n:repo_name_with_owner: acme/${key}\n`],
    ["test_results/a.xml", reportOf("a")],
  ]);
  const path = join(folder, `${key}.gz`);
  await Deno.writeFile(path, bytes);
  await Deno.utime(path, 0, 0);
}
