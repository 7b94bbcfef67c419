// deno-lint-ignore-file no-console -- a program of its own
/**
 * The benchmark: `deno task bench [--quick] [--json] [--only api,peers,...]`.
 *
 * Runs on a throw-away PostgreSQL server of its own, with data that a seeded generator puts through
 * the program's own processing. Tables go to standard error while it runs; with `--json` one object
 * goes to standard output at the end.
 */
import { parseArgs } from "node:util";
import { openDatabase } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import { measureAfterUpload } from "./after_upload.ts";
import { type Effort, measureApi, measurePeers } from "./api.ts";
import { measureGrowth } from "./growth.ts";
import { measureIngest } from "./ingest.ts";
import { startPostgres } from "./postgres_server.ts";
import { installPeers } from "./processes.ts";
import { fill } from "./scenario.ts";
import { measureStartup } from "./startup.ts";
import { measureStorage } from "./storage.ts";

const SECTIONS = ["api", "peers", "growth", "storage", "ingest", "startup", "after_upload"];

/** What the two databases of a run hold, and how long is measured. */
const SIZES = {
  quick: { small: 200_000, large: 2_000_000, effort: { rounds: 7, seconds: 1 } },
  full: { small: 1_000_000, large: 100_000_000, effort: { rounds: 9, seconds: 2 } },
} satisfies Record<string, { small: number; large: number; effort: Effort }>;

const { values } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    only: { type: "string", default: SECTIONS.join(",") },
  },
});
const wanted = new Set(values.only.split(","));
const { small, large, effort } = values.quick ? SIZES.quick : SIZES.full;
const started = performance.now();
const report = (line: string) => console.error(line);
const section = (name: string) =>
  report(`\n${name} (after ${((performance.now() - started) / 1000).toFixed(0)} s)`);

const server = await startPostgres({ shared_buffers: "256MB", max_wal_size: "4GB" });
const results: Record<string, unknown> = {};
try {
  const peersFolder = await installPeers();
  section(`filling a database with ${small} results`);
  const smallScenario = await fill(await server.createDatabase("small"), {
    resultCount: small,
    report,
  });
  if (wanted.has("api")) {
    section("requests against the limit");
    results.api = await measureApi(smallScenario, { effort, peersFolder, report });
  }
  if (wanted.has("peers")) {
    section("peers");
    results.peers = await measurePeers(smallScenario, { effort, peersFolder, report });
  }
  if (wanted.has("growth") || wanted.has("storage")) {
    section(`filling a database with ${large} results`);
    const largeScenario = await fill(await server.createDatabase("large"), {
      resultCount: large,
      report,
    });
    if (wanted.has("growth")) {
      section("growth");
      results.growth = await measureGrowth(smallScenario, largeScenario, { effort, report });
    }
    if (wanted.has("storage")) {
      section("storage");
      results.storage = await measureStorage(largeScenario.databaseUrl, largeScenario.resultCount);
      report(JSON.stringify(results.storage));
    }
  }
  if (wanted.has("after_upload")) {
    section("first page after an upload of 20,000 results");
    results.after_upload_ms = await measureAfterUpload(smallScenario);
    report(`${results.after_upload_ms} ms`);
  }
  if (wanted.has("startup")) {
    section("start to first answer");
    const dataDir = await Deno.makeTempDir();
    const embedded = await openDatabase({ dataDir });
    await migrate(embedded.sql);
    await embedded.close();
    results.startup = {
      embedded_ms: await measureStartup({ DATA_DIR: dataDir, DATABASE_URL: "" }),
      server_ms: await measureStartup({ DATABASE_URL: smallScenario.databaseUrl }),
    };
    await Deno.remove(dataDir, { recursive: true });
    report(JSON.stringify(results.startup));
  }
  if (wanted.has("ingest")) {
    section("taking reports in");
    results.ingest = await measureIngest(await server.createDatabase("ingest"), {
      quick: values.quick,
      report,
    });
    report(JSON.stringify(results.ingest));
  }
} finally {
  await server.stop();
}
section("done");
if (values.json) console.log(JSON.stringify(results, null, 2));
