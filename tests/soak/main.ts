/**
 * The soak: `deno task soak --minutes 60 --database server|embedded --seed 1`.
 *
 * One `serve` at half of its saturation, with uploads through `watch` and `ingest`. Every minute it
 * records memory, handles and latency of both. At the end exactly the acknowledged uploads must be
 * stored. Prints a Markdown table; exits with 1 on a failed check.
 */
import assert from "node:assert/strict";
import process from "node:process";
import { parseArgs } from "node:util";
import { Random } from "../bench/random.ts";
import { checkUploads, type Service } from "../faults/requests.ts";
import { type Usage, usageOf } from "../faults/measure.ts";
import { makePlace } from "../faults/place.ts";
import { makeUpload, putArchive, type Upload, writeForIngest } from "../faults/uploads.ts";
import { pause } from "../e2e/launch.ts";
import { run } from "../e2e/program.ts";
import { taskOptions } from "../task_options.ts";
import { type Load, startLoad } from "./load.ts";
import { startLongRunning } from "./long_running.ts";

const { minutes, database, seed } = taskOptions((args) => {
  const { values } = parseArgs({
    args,
    options: {
      minutes: { type: "string", default: "60" },
      database: { type: "string", default: "server" },
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
  return { minutes, database, seed };
}, {
  usage: "Usage: deno task soak [--minutes N] [--database server|embedded] [--seed N]",
  example: "deno task soak --minutes 1",
});

const REPOSITORY = "acme/shop";
const TESTS_PER_UPLOAD = 200;
/** One in three goes through `ingest`, the others through the watched folder. */
const UPLOAD_EVERY_MS = 10_000;
/** Timeout until the last upload is stored. */
const SETTLE_TIMEOUT_MS = 60_000;

/** A row of the table. */
interface Sample {
  minute: number;
  rps: number;
  p50Ms: number;
  p99Ms: number;
  worstMs: number;
  failed: number;
  serve: Usage;
  watch: Usage;
  uploads: number;
}

const say = (text: string) =>
  process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${text}\n`);

const place = await makePlace(database);
const folder = await Deno.makeTempDir({ prefix: "test-analytics-soak-" });
const watched = `${folder}/watched`;
await Deno.mkdir(watched);
const serve = await startLongRunning(["serve", "--port", "0"], place.environment);
const watch = await startLongRunning(
  ["watch", watched, "--org", "acme", "--interval", "1s"],
  place.environment,
);
const service: Service = { url: serve.url(), token: place.token };
const uploads: Upload[] = [];
const since = Math.floor(Date.now() / 1000) - 86_400;
let isOver = false;

try {
  await uploadNext();
  const full = startLoad(service, {
    repository: REPOSITORY,
    random: new Random(seed),
  });
  await pause(20_000);
  const { rps } = (await full.stop()).take();
  const load = startLoad(service, {
    repository: REPOSITORY,
    random: new Random(seed),
    rate: rps / 2,
  });
  say(`${rps.toFixed(0)} requests/s at most; ${minutes} minutes at half of it`);
  const uploading = uploadContinuously();
  const samples = await sampleEveryMinute(load);
  isOver = true;
  await uploading;
  await load.stop();
  await settle();
  process.stdout.write(`${tableOf(samples)}\n`);
  const failed = samples.reduce((sum, sample) => sum + sample.failed, 0);
  assert.equal(failed, 0, `${failed} requests failed`);
  say(`${uploads.length} uploads are stored, each once`);
} finally {
  isOver = true;
  await watch.stop();
  await serve.stop();
  await place.remove();
  await Deno.remove(folder, { recursive: true });
}

async function uploadContinuously(): Promise<void> {
  while (!isOver) {
    await pause(UPLOAD_EVERY_MS);
    if (!isOver) await uploadNext();
  }
}

async function uploadNext(): Promise<void> {
  const upload = makeUpload(uploads.length, {
    repository: REPOSITORY,
    since,
    testCount: TESTS_PER_UPLOAD,
  });
  if (upload.no % 3 === 0) {
    const { code, stderr } = await run(await writeForIngest(upload, folder), place.environment);
    assert.equal(code, 0, stderr);
  } else {
    await putArchive(upload, watched);
  }
  uploads.push(upload);
}

async function sampleEveryMinute(load: Load): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (let minute = 1; minute <= minutes; minute++) {
    await pause(60_000);
    const sample = {
      minute,
      ...load.take(),
      serve: await usageOf(serve.pid),
      watch: await usageOf(watch.pid),
      uploads: uploads.length,
    };
    samples.push(sample);
    say(rowOf(sample));
  }
  return samples;
}

/** Waits until the last archive is processed, and checks all responses. */
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
      return;
    } catch (error) {
      if (performance.now() - begun > SETTLE_TIMEOUT_MS) throw error;
      await pause(1_000);
    }
  }
}

function tableOf(samples: readonly Sample[]): string {
  return [
    "| minute | requests/s | p50, p99, worst ms | failed | serve MB | handles | watch MB | handles | uploads |",
    "|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ...samples.map(rowOf),
  ].join("\n");
}

function rowOf({ minute, rps, p50Ms, p99Ms, worstMs, failed, serve, watch, uploads }: Sample) {
  const latency = [p50Ms, p99Ms, worstMs].map((ms) => ms.toFixed(1)).join(", ");
  const cells = [minute, rps.toFixed(0), latency, failed, serve.megabytes, serve.handles];
  return `| ${[...cells, watch.megabytes, watch.handles, uploads].join(" | ")} |`;
}
