/**
 * How soon ordinary uploads of 1,000 results are visible, and how many a second `up` takes: one client
 * after another, then eight at once.
 */
import { join } from "node:path";
import { pause } from "../../../lib/base/delay.ts";
import { start } from "../../../tests/e2e/program.ts";
import { makeOwnServer } from "../../../tests/e2e/postgres.ts";
import {
  addToken,
  createRunDatabase,
  type RunDatabase,
  useServer,
} from "../faults/run_database.ts";
import { cpuSeconds, serverCpuSeconds } from "./cpu.ts";
import { builds, identities } from "./generate.ts";
import { writeReport } from "./junit_file.ts";

/** Uploads to one database. Milliseconds, unless the name says otherwise. */
export interface UploadsRow {
  database: RunDatabase["kind"];
  /** The first upload, whose tests are new: from its first byte until it is visible. */
  first_ms: number;
  /** From the first byte of an upload to its response, one client. */
  acknowledged: Percentiles;
  /** From the response until the API shows the submission, one client. */
  visible: Percentiles;
  /** The longest request of another client of the API while eight clients upload. */
  api_ms: number;
  /** Eight clients: uploads a second, from the first byte until all are visible. */
  uploads_per_second: number;
  /** Processor time for each of these uploads, of the service and of the server. */
  service_cpu: number;
  server_cpu: number;
}

interface Percentiles {
  p50: number;
  p95: number;
  max: number;
}

const TESTS = 1_000;
const SEQUENTIAL_UPLOADS = 100;
const CLIENTS = 8;
const CONCURRENT_UPLOADS = 200;
/** Before the measurement, so that code is compiled and plans are made. */
const WARM_UPLOADS = 20;
const LOOK_EVERY_MS = 2;
const PROBE_PAUSE_MS = 20;
const VISIBLE_WITHIN_MS = 120_000;

/** Measures each database with a service of its own. */
export async function measureUploads(
  { databases, report }: {
    databases: readonly RunDatabase["kind"][];
    report: (line: string) => void;
  },
): Promise<UploadsRow[]> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-uploads-" });
  const rows: UploadsRow[] = [];
  try {
    const count = 1 + SEQUENTIAL_UPLOADS + WARM_UPLOADS + CONCURRENT_UPLOADS;
    const uploads = await makeUploads(join(folder, "report.xml"), count);
    for (const kind of databases) {
      rows.push(await measureDatabase(kind, uploads.values()));
      report(JSON.stringify(rows.at(-1)));
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
  return rows;
}

async function measureDatabase(
  kind: RunDatabase["kind"],
  uploads: Iterator<Upload>,
): Promise<UploadsRow> {
  // Flushed as one that is relied on, as the embedded database always is.
  const server = kind === "server" ? await makeOwnServer({ fsync: "on" }) : null;
  const database = server
    ? await useServer(server, () => server.remove())
    : await createRunDatabase(kind);
  const { environment, token } = database;
  const dataDir = environment.DATA_DIR ?? await Deno.makeTempDir({ prefix: "test-analytics-" });
  try {
    const uploadToken = await addToken(environment, "--upload");
    const line = ["up", "--port", "0", "--upload-port", "0"];
    const service = await start(line, { ...environment, DATA_DIR: dataDir });
    try {
      const submissions = `${service.url}/api/repos/acme/shop/submissions?limit=1`;
      const countVisible = async () => {
        const headers = { authorization: `Bearer ${token}` };
        const response = await fetch(submissions, { headers });
        const body = await response.json();
        return response.status === 404 ? 0 : body.count as number;
      };
      let sent = 0;
      const send = async ({ body, commit }: Upload) => {
        sent++;
        const address = `${service.uploadUrl}/upload/acme/shop?commit=${commit}`;
        const headers = { authorization: `Bearer ${uploadToken}`, "content-type": "text/xml" };
        const response = await fetch(address, { method: "POST", headers, body });
        const text = await response.text();
        if (response.status !== 202) throw new Error(`upload: ${response.status} ${text}`);
      };
      const untilVisible = async (pauseMs: number) => {
        const deadline = performance.now() + VISIBLE_WITHIN_MS;
        while (await countVisible() < sent) {
          if (performance.now() > deadline) throw new Error("uploads are not visible in time");
          await pause(pauseMs);
        }
      };
      const measureOne = async () => {
        const begun = performance.now();
        await send(uploads.next().value);
        const acknowledged = performance.now();
        await untilVisible(LOOK_EVERY_MS);
        return {
          acknowledged: acknowledged - begun,
          visible: performance.now() - acknowledged,
        };
      };

      const first = await measureOne();
      for (let no = 0; no < WARM_UPLOADS; no++) await measureOne();
      const sequential: Awaited<ReturnType<typeof measureOne>>[] = [];
      for (let no = 0; no < SEQUENTIAL_UPLOADS; no++) sequential.push(await measureOne());

      const usedCpu = async () => ({
        service: await cpuSeconds(service.pid),
        server: server ? await serverCpuSeconds(await server.pid()) : 0,
      });
      const before = await usedCpu();
      const begun = performance.now();
      let remaining = CONCURRENT_UPLOADS;
      const clients = Array.from({ length: CLIENTS }, async () => {
        while (remaining-- > 0) await send(uploads.next().value);
      });
      let isOver = false;
      let longest = 0;
      const probe = (async () => {
        while (!isOver) {
          const asked = performance.now();
          await countVisible();
          longest = Math.max(longest, performance.now() - asked);
          await pause(PROBE_PAUSE_MS);
        }
      })();
      await Promise.all(clients);
      await untilVisible(PROBE_PAUSE_MS);
      const seconds = (performance.now() - begun) / 1000;
      isOver = true;
      await probe;
      const after = await usedCpu();
      const perUpload = (used: number) => Math.round(1e4 * used / CONCURRENT_UPLOADS) / 10;
      return {
        database: kind,
        first_ms: Math.round(first.acknowledged + first.visible),
        acknowledged: percentiles(sequential.map(({ acknowledged }) => acknowledged)),
        visible: percentiles(sequential.map(({ visible }) => visible)),
        api_ms: Math.round(longest),
        uploads_per_second: Math.round(10 * CONCURRENT_UPLOADS / seconds) / 10,
        service_cpu: perUpload(after.service - before.service),
        server_cpu: perUpload(after.server - before.server),
      };
    } finally {
      await service.stop("SIGTERM");
    }
  } finally {
    if (!environment.DATA_DIR) await Deno.remove(dataDir, { recursive: true });
    await database.remove();
  }
}

function percentiles(values: number[]): Percentiles {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number) => Math.round(sorted[Math.ceil(share * sorted.length) - 1]!);
  return { p50: at(0.5), p95: at(0.95), max: at(1) };
}

interface Upload {
  body: string;
  commit: string;
}

/** Runs of the same tests with other durations and outcomes. */
async function makeUploads(file: string, count: number): Promise<Upload[]> {
  const tests = identities(TESTS);
  const now = Math.floor(Date.now() / 1000);
  const uploads: Upload[] = [];
  const history = builds({
    seed: 11,
    testCount: TESTS,
    buildCount: count,
    shardCount: 1,
    disruptiveTestCount: 20,
    disruptionCount: count,
    from: now - 3600,
    until: now,
  });
  for (const build of history) {
    await writeReport(file, { build, tests });
    uploads.push({ body: await Deno.readTextFile(file), commit: build.commitOid });
  }
  return uploads;
}
