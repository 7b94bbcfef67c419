// deno-lint-ignore-file no-console -- a program of its own
/**
 * The benchmark: `deno task measure bench [--quick] [--json] [--only api,growth,...] [--data FOLDER]`, and
 * `deno task measure bench --markdown RESULT.json` for the tables of an earlier run.
 *
 * Runs on a throw-away PostgreSQL server of its own, with data that a seeded generator puts through
 * the program's own processing. What happens goes to standard error; at the end tables go to
 * standard output, or with `--json` one object.
 */
import { join, resolve } from "node:path";
import { build } from "../../build.ts";
import { taskOptions } from "../../../tests/task_options.ts";
import { measureAfterUpload } from "./after_upload.ts";
import type { Effort } from "./against_limit.ts";
import { measureApi } from "./api.ts";
import { measureCrowd } from "./crowd.ts";
import { DOOR_LOADS, measureDoor } from "./door.ts";
import { type Databases, databasesOf, type Sizes } from "./databases.ts";
import { measureUploads } from "./uploads.ts";
import { fillUncached, measureUncached } from "./uncached.ts";
import { measureExport } from "./export.ts";
import { measureGrowth } from "./growth.ts";
import { fillHistories, measureHistories } from "./histories.ts";
import { measureIngest } from "./ingest.ts";
import { describeMachine } from "./machine.ts";
import { markdown, type Results } from "./markdown.ts";
import { EXAMPLE, readOptions, USAGE } from "./options.ts";
import { measurePages } from "./pages.ts";
import { type PostgresServer, startPostgres } from "./postgres_server.ts";
import { measureReader } from "./reader.ts";
import { fillEmbedded, measureStartup } from "./startup.ts";
import { measureStorage } from "./storage.ts";

interface Scale {
  /** What the databases hold. */
  sizes: Sizes;
  /** How long is measured. */
  effort: Effort;
  /** The database whose bytes count. */
  weighed: keyof Sizes;
  /** Endpoints whose growth is measured; `null` for all. */
  growing: string[] | null;
  /** How often each test ran that is asked about. */
  runs: number;
  /** How often each test ran of a long history. */
  historyRuns: number;
}

const SCALES = {
  quick: {
    sizes: { small: 200_000, large: 2_000_000, measured: 200_000 },
    effort: { rounds: 7, seconds: 1 },
    // Bytes per result mean something only where there are many.
    weighed: "large",
    // The others differ from these in what they show, not in what they read.
    growing: ["submissions", "tests", "results", "inventory"],
    runs: 200,
    historyRuns: 400,
  },
  full: {
    sizes: { small: 1_000_000, large: 100_000_000, measured: 10_000_000 },
    effort: { rounds: 7, seconds: 2 },
    weighed: "measured",
    growing: null,
    runs: 1_000,
    historyRuns: 2_000,
  },
} satisfies Record<string, Scale>;

const CROWD_ROUNDS = 5;

const { quick, json, only, data, earlier } = taskOptions(readOptions, {
  usage: USAGE,
  example: EXAMPLE,
});
if (earlier) {
  console.log(markdown(earlier));
  Deno.exit();
}
const { sizes, effort, weighed, growing, runs, historyRuns }: Scale = quick
  ? SCALES.quick
  : SCALES.full;
const started = performance.now();
const report = (line: string) => console.error(line);
const folder = data && resolve(data);

const server = await startPostgres(
  { shared_buffers: "256MB", max_wal_size: "4GB" },
  folder ? { dataFolder: join(folder, "postgres") } : {},
);
try {
  const databases = databasesOf(server, { sizes, folder, report });
  const results = await measure(server, databases);
  report(`\ndone after ${elapsed()} s`);
  console.log(json ? JSON.stringify(results, null, 2) : markdown(results));
} finally {
  await server.stop();
}

async function measure(server: PostgresServer, databases: Databases): Promise<Results> {
  const results: Results = { machine: await describeMachine(server, quick) };
  const section = (name: string) => {
    if (!only.has(name)) return false;
    report(`\n${name} (after ${elapsed()} s)`);
    return true;
  };

  if (section("api")) {
    results.api = await measureApi(await databases.copy("measured", "api"), { effort, report });
  }
  if (section("crowd")) {
    results.crowd = await measureCrowd(await databases.copy("measured", "crowd"), {
      // Eight rows of many pages: fewer slices of each are enough for a stable median.
      effort: { ...effort, rounds: CROWD_ROUNDS },
      report,
    });
  }
  if (section("growth")) {
    const small = await databases.get("small");
    const large = await databases.get("large");
    const endpoints = growing ?? Object.keys(small.endpoints);
    results.growth = await measureGrowth({ small, large }, { endpoints, effort, report });
  }
  if (section("storage")) {
    const { databaseUrl, resultCount } = await databases.copy(weighed, "storage");
    results.storage = await measureStorage(databaseUrl, resultCount);
    report(JSON.stringify(results.storage));
  }
  if (section("after_upload")) {
    const scenario = await databases.copy("measured", "after_upload");
    Object.assign(results, await measureAfterUpload(scenario, { report }));
  }
  if (section("uncached")) {
    const databaseUrl = await server.createDatabase("uncached");
    const filled = await fillUncached(databaseUrl, { buildCount: runs, report });
    results.uncached = await measureUncached(databaseUrl, { filled, report });
  }
  if (section("histories")) {
    const databaseUrl = await server.createDatabase("histories");
    const filled = await fillHistories(databaseUrl, { runs: historyRuns, report });
    results.histories = await measureHistories(databaseUrl, { filled, report });
  }
  if (section("pages")) {
    results.pages = await measurePages(await databases.get("measured"), { report });
  }
  if (section("startup")) {
    results.startup = await measureStarts((await databases.get("measured")).databaseUrl);
    report(JSON.stringify(results.startup));
  }
  if (section("ingest")) {
    results.ingest = await measureIngest(await server.createDatabase("ingest"), {
      quick: quick,
      parseMbPerSecond: await measureReader(effort.rounds),
      report,
    });
    report(JSON.stringify(results.ingest));
  }
  if (section("door")) {
    const loads = quick
      ? DOOR_LOADS.filter(({ uploads, files }) => uploads * files < 50_000)
      : DOOR_LOADS;
    results.door = await measureDoor({ databases: ["embedded", "server"], loads, report });
  }
  if (section("uploads")) {
    results.uploads = await measureUploads({ databases: ["embedded", "server"], report });
  }
  if (section("export")) {
    const source = await databases.get("small");
    results.export = await measureExport(source, await server.createDatabase("imported"));
    report(JSON.stringify(results.export));
  }
  return results;
}

/** From source, and in a full run from the single file that releases consist of. */
async function measureStarts(databaseUrl: string): Promise<Record<string, number>> {
  const folder = await Deno.makeTempDir();
  try {
    const dataDir = join(folder, "data");
    await fillEmbedded(dataDir);
    const source = new URL("../../../main.ts", import.meta.url).pathname;
    const onEmbedded = { DATA_DIR: dataDir, DATABASE_URL: "" };
    const onServer = { DATABASE_URL: databaseUrl };
    const figures = {
      embedded_ms: await measureStartup(source, onEmbedded),
      server_ms: await measureStartup(source, onServer),
    };
    if (quick) return figures;
    const bundle = (await build(join(folder, "dist"))).path;
    return {
      ...figures,
      bundle_embedded_ms: await measureStartup(bundle, onEmbedded),
      bundle_server_ms: await measureStartup(bundle, onServer),
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

function elapsed(): string {
  return ((performance.now() - started) / 1000).toFixed(0);
}
