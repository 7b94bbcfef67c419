/**
 * The soak: `deno task measure soak --minutes 60 --database server|embedded --rate 200`.
 *
 * One `serve` at half of its saturation or the given rate, some requests with URLs that are never repeated and some with
 * wrong tokens; uploads through `watch` and `ingest`; a hostile archive every minute. Prints latency,
 * memory and handles by the minute as a Markdown table. At the end exactly the acknowledged uploads
 * must be stored and every hostile archive dealt with. Exits with 1 on a failed check.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { parseArgs } from "node:util";
import { Random } from "../bench/random.ts";
import { checkUploads, type Service } from "../faults/requests.ts";
import { familyMegabytes, type Usage, usageOf } from "../faults/measure.ts";
import { createRunDatabase, useServer } from "../faults/run_database.ts";
import { makeUpload, putArchive, putFile, type Upload, writeForIngest } from "../faults/uploads.ts";
import { makeOwnServer } from "../../../tests/e2e/postgres.ts";
import { run } from "../../../tests/e2e/program.ts";
import { taskOptions } from "../../../tests/task_options.ts";
import { makeHostileArchive } from "./hostile_archives.ts";
import { type Load, type LoadFigures, startLoad } from "./load.ts";
import { startLongRunning } from "./long_running.ts";
import { pause } from "../../../lib/base/delay.ts";

const { minutes, database, rate, seed } = taskOptions((args) => {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "60" },
      database: { type: "string", default: "server" },
      rate: { type: "string" },
      seed: { type: "string", default: "1" },
    },
  });
  const minutes = Number(values.minutes);
  if (!(minutes >= 1)) {
    throw new RangeError(`invalid --minutes ${values.minutes}: expected at least 1`);
  }
  const database = (["server", "embedded"] as const).find((kind) => kind === values.database);
  if (!database) {
    throw new RangeError(`invalid --database ${values.database}: expected server or embedded`);
  }
  const seed = Number(values.seed);
  if (!Number.isInteger(seed)) {
    throw new RangeError(`invalid --seed ${values.seed}: expected an integer`);
  }
  const rate = values.rate === undefined ? null : Number(values.rate);
  if (rate !== null && !(rate > 0)) {
    throw new RangeError(`invalid --rate ${values.rate}: expected requests per second above 0`);
  }
  return { minutes, database, rate, seed };
}, {
  usage:
    "Usage: deno task measure soak [--minutes N] [--database server|embedded] [--rate N] [--seed N]",
  example: "deno task measure soak --minutes 1",
});

const HEADER = [
  "| minute | requests/s | p50, p99, worst ms | 401 | failed | serve MB | handles | watch MB | " +
  "handles | database MB | stored | hostile: processed, failed |",
  "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
].join("\n");

const REPOSITORY = "acme/shop";
const TESTS_PER_UPLOAD = 200;
/** One in three goes through `ingest`, the others through the watched folder. */
const UPLOAD_EVERY_MS = 10_000;
const HOSTILE_EVERY_MS = 60_000;
const SATURATION_MS = 20_000;
/** Memory and handles are read this often; the table has the greatest of each minute. */
const USAGE_EVERY_MS = 2_000;
/** Timeout until the last archive is processed. */
const SETTLE_TIMEOUT_MS = 60_000;

/** A row of the table. */
interface Sample extends LoadFigures {
  minute: number;
  serve: Usage;
  watch: Usage;
  /** Memory of the server's processes; `null` for the embedded database, which is part of `serve`. */
  databaseMegabytes: number | null;
  /** Uploads that are stored, all in all. */
  stored: number;
  /** Hostile archives that were processed and that failed, all in all. */
  hostileProcessed: number;
  hostileFailed: number;
}

const say = (text: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

const server = database === "server" ? await makeOwnServer() : null;
const runDatabase = server
  ? await useServer(server, () => server.remove())
  : await createRunDatabase("embedded");
const folder = await Deno.makeTempDir({ prefix: "test-analytics-soak-" });
const watched = `${folder}/watched`;
await Deno.mkdir(watched);
/** Status of each archive that `watch` has reported, by its key. */
const statuses = new Map<string, string>();
const serve = await startLongRunning(["serve", "--port", "0"], runDatabase.environment);
const watch = await startLongRunning(
  ["watch", watched, "--org", "acme", "--interval", "1s", "--json"],
  runDatabase.environment,
  (line) => {
    const { key, status } = JSON.parse(line);
    statuses.set(key, status);
  },
);
const service: Service = { url: serve.url(), token: runDatabase.token };
const uploads: Upload[] = [];
let ingestedCount = 0;
/** The expected status of each hostile archive, by its key; `null`: processed or failed. */
const hostile = new Map<string, string | null>();
const since = Math.floor(Date.now() / 1000) - 86_400;
let isOver = false;

try {
  await uploadNext();
  const load = startLoad(service, {
    repository: REPOSITORY,
    random: new Random(seed + 1),
    rate: rate ?? await measureSaturation() / 2,
  });
  process.stderr.write(`${HEADER}\n`);
  const [samples] = await Promise.all([
    sampleEveryMinute(load).finally(() => isOver = true),
    repeatedly(UPLOAD_EVERY_MS, uploadNext),
    repeatedly(HOSTILE_EVERY_MS, putHostileArchive),
  ]);
  await load.stop();
  await settle();
  process.stdout.write(`${[HEADER, ...samples.map(rowOf)].join("\n")}\n`);
  const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
  assert.equal(failed, 0, `${failed} requests failed`);
  say(`${uploads.length} uploads are stored, each once; ${hostile.size} hostile archives are done`);
} finally {
  isOver = true;
  await watch.stop();
  await serve.stop();
  await runDatabase.remove();
  await Deno.remove(folder, { recursive: true });
}

/** Requests per second that `serve` answers at most. */
async function measureSaturation(): Promise<number> {
  const full = startLoad(service, { repository: REPOSITORY, random: new Random(seed) });
  await pause(SATURATION_MS);
  const { rps } = (await full.stop()).take();
  say(`${rps.toFixed(0)} requests/s at most; ${minutes} minutes at half of it`);
  return rps;
}

async function repeatedly(everyMs: number, act: () => Promise<void>): Promise<void> {
  for (let next = performance.now();; next += everyMs) {
    while (!isOver && performance.now() < next) {
      await pause(Math.min(next - performance.now(), 500));
    }
    if (isOver) return;
    await act();
  }
}

async function uploadNext(): Promise<void> {
  const upload = makeUpload(uploads.length, {
    repository: REPOSITORY,
    since,
    testCount: TESTS_PER_UPLOAD,
  });
  if (upload.no % 3 === 0) {
    const { code, stderr } = await run(
      await writeForIngest(upload, folder),
      runDatabase.environment,
    );
    assert.equal(code, 0, stderr);
    ingestedCount++;
  } else {
    await putArchive(upload, watched);
  }
  uploads.push(upload);
}

async function putHostileArchive(): Promise<void> {
  const { kind, outcome, bytes } = await makeHostileArchive(hostile.size);
  const key = `hostile-${hostile.size}-${kind}.gz`;
  hostile.set(key, outcome);
  await putFile(bytes, { folder: watched, key });
}

async function sampleEveryMinute(load: Load): Promise<Sample[]> {
  const samples: Sample[] = [];
  const begun = performance.now();
  for (let minute = 1; minute <= minutes; minute++) {
    let [inServe, inWatch] = [await usageOf(serve.pid), await usageOf(watch.pid)];
    while (performance.now() - begun < minute * 60_000) {
      await pause(USAGE_EVERY_MS);
      inServe = greatest(inServe, await usageOf(serve.pid));
      inWatch = greatest(inWatch, await usageOf(watch.pid));
    }
    const reported = [...statuses];
    const ofHostile = (wanted: string) =>
      reported.filter(([key, status]) => hostile.has(key) && status === wanted).length;
    const sample = {
      minute,
      ...load.take(),
      serve: inServe,
      watch: inWatch,
      databaseMegabytes: server && await familyMegabytes(await server.pid()),
      stored: ingestedCount +
        reported.filter(([key, status]) => !hostile.has(key) && status === "processed").length,
      hostileProcessed: ofHostile("processed"),
      hostileFailed: ofHostile("failed"),
    };
    samples.push(sample);
    process.stderr.write(`${rowOf(sample)}\n`);
  }
  return samples;
}

function greatest(a: Usage, b: Usage): Usage {
  return {
    megabytes: Math.max(a.megabytes, b.megabytes),
    handles: Math.max(a.handles, b.handles),
  };
}

/** Waits until the last archive is processed, and checks all responses and outcomes. */
async function settle(): Promise<void> {
  const begun = performance.now();
  for (;;) {
    try {
      await checkUploads(service, {
        repository: REPOSITORY,
        certain: uploads,
        doubtful: [],
        isConcurrent: true,
      });
      for (const [key, outcome] of hostile) {
        const status = statuses.get(key);
        assert.ok(status === (outcome ?? status) && status !== undefined, `${key}: ${status}`);
      }
      return;
    } catch (error) {
      if (performance.now() - begun > SETTLE_TIMEOUT_MS) throw error;
      await pause(1_000);
    }
  }
}

function rowOf(sample: Sample): string {
  const { serve, watch, databaseMegabytes } = sample;
  const latency = [sample.p50Ms, sample.p99Ms, sample.worstMs].map((ms) => ms.toFixed(1));
  const cells = [
    sample.minute,
    sample.rps.toFixed(0),
    latency.join(", "),
    sample.refused,
    sample.failed,
    serve.megabytes,
    serve.handles,
    watch.megabytes,
    watch.handles,
    databaseMegabytes ?? "",
    sample.stored,
    `${sample.hostileProcessed}, ${sample.hostileFailed}`,
  ];
  return `| ${cells.join(" | ")} |`;
}
