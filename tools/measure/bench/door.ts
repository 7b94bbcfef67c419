/**
 * What uploads of very many small files do to the rest of the service: `up` receives them while other
 * clients ask the API and the liveness probe.
 */
import { join } from "node:path";
import { writeArchive } from "../../../lib/report/archive/write_archive.ts";
import { pause } from "../../../lib/base/delay.ts";
import { start } from "../../../tests/e2e/program.ts";
import { usageOf } from "../faults/measure.ts";
import { addToken, createRunDatabase, type RunDatabase } from "../faults/run_database.ts";

/** Concurrent uploads of many files each. */
interface DoorLoad {
  uploads: number;
  /** Entries of an archive, or parts of a form. */
  files: number;
  kind: "archive" | "form";
}

/** One load on one database. */
export interface DoorRow {
  what: string;
  database: RunDatabase["kind"];
  /** Slowest request of the API, and slowest liveness probe. */
  api_ms: number;
  health_ms: number;
  /** 99 of 100 requests of the API were faster. */
  api_p99_ms: number;
  memory_before_mb: number;
  memory_mb: number;
  handles_before: number;
  /** Most at one time. */
  handles: number;
  /** Responses by status. */
  responses: Record<string, number>;
  /** Submissions afterwards. */
  stored: number;
  /** Until the last upload was answered, and until the last one was in the API. */
  answered_s: number;
  processed_s: number;
}

/** CI with very many files, and archives made to hurt. */
export const DOOR_LOADS: readonly DoorLoad[] = [
  { uploads: 1, files: 90_000, kind: "archive" },
  { uploads: 4, files: 90_000, kind: "archive" },
  { uploads: 20, files: 1_000, kind: "form" },
  { uploads: 30, files: 10_000, kind: "form" },
];

const PROBE_PAUSE_MS = 10;
const SAMPLE_MS = 20;
const PROCESSED_WITHIN_MS = 600_000;
const BOUNDARY = "test-analytics-boundary";

/** Runs each load on a new database. */
export async function measureDoor(
  { databases, loads = DOOR_LOADS, report }: {
    databases: readonly RunDatabase["kind"][];
    loads?: readonly DoorLoad[];
    report: (line: string) => void;
  },
): Promise<DoorRow[]> {
  const rows: DoorRow[] = [];
  for (const kind of databases) {
    for (const load of loads) {
      rows.push(await measureLoad(kind, load));
      report(JSON.stringify(rows.at(-1)));
    }
  }
  return rows;
}

async function measureLoad(kind: RunDatabase["kind"], load: DoorLoad): Promise<DoorRow> {
  const database = await createRunDatabase(kind);
  const { environment, token } = database;
  const dataDir = environment.DATA_DIR ?? await Deno.makeTempDir({ prefix: "test-analytics-" });
  const bodies = await Deno.makeTempDir({ prefix: "test-analytics-door-" });
  try {
    const uploadToken = await addToken(environment, "--upload");
    const paths: string[] = [];
    for (let no = 0; no < load.uploads; no++) {
      paths.push(join(bodies, String(no)));
      await Deno.writeFile(paths[no]!, bodyOf(load, no));
    }
    const line = ["up", "--port", "0", "--upload-port", "0"];
    const service = await start(line, { ...environment, DATA_DIR: dataDir });
    try {
      const target = `${service.url}/api/repos/acme/shop/submissions`;
      const countStored = async () => {
        const response = await fetch(target, { headers: { authorization: `Bearer ${token}` } });
        if (response.status === 404) {
          await response.body?.cancel();
          return 0;
        }
        return (await response.json()).count as number;
      };
      const send = async (path: string, type: string, no: number) => {
        const time = new Date(Date.now() - 3_600_000 + no * 1_000).toISOString().slice(0, 19);
        const { stdout } = await new Deno.Command("curl", {
          args: [
            ...["-sS", "-o", join(bodies, `response-${no}`), "-w", "%{http_code}"],
            ...["-H", `Authorization: Bearer ${uploadToken}`, "-H", `Content-Type: ${type}`],
            ...["-H", "Expect:", "-T", path],
            `${service.uploadUrl}/upload/acme/shop?commit=4f2a9c1&recorded_at=${time}Z`,
          ],
        }).output();
        return new TextDecoder().decode(stdout);
      };
      // Workers, connections and code are warm, as in a service that has run for a while.
      const warm = join(bodies, "warm");
      await Deno.writeTextFile(warm, reportOf("warm"));
      await send(warm, "text/xml", 0);
      await until(async () => await countStored() === 1);
      await Deno.writeTextFile(`/proc/${service.pid}/clear_refs`, "5");
      const before = await usageOf(service.pid);

      const authorization = `Bearer ${token}`;
      const probes = [
        startProbe(target, { authorization }),
        startProbe(`${service.url}/health`, {}),
        startProbe(`${service.uploadUrl}/health`, {}),
      ] as const;
      const handles = sampleHandles(service.pid);
      const begun = performance.now();
      const type = load.kind === "form"
        ? `multipart/form-data; boundary=${BOUNDARY}`
        : "application/gzip";
      const responses: Record<string, number> = {};
      await Promise.all(paths.map(async (path, no) => {
        const status = await send(path, type, no + 1);
        responses[status] = (responses[status] ?? 0) + 1;
      }));
      const answered = performance.now() - begun;
      await until(async () => await isEmpty(join(dataDir, "inbox")));
      const processed = performance.now() - begun;
      const [api, ...health] = await Promise.all(probes.map((probe) => probe.stop()));
      const peak = await peakMegabytes(service.pid);
      return {
        what: `${load.uploads} x ${load.files} ${load.kind === "form" ? "parts" : "entries"}`,
        database: kind,
        api_ms: Math.round(api!.at(-1)!),
        health_ms: Math.round(Math.max(...health.map((times) => times.at(-1)!))),
        api_p99_ms: Math.round(api![Math.floor(0.99 * (api!.length - 1))]!),
        memory_before_mb: before.megabytes,
        memory_mb: peak,
        handles_before: before.handles,
        handles: await handles.stop(),
        responses,
        stored: await countStored() - 1,
        answered_s: Math.round(answered / 100) / 10,
        processed_s: Math.round(processed / 100) / 10,
      };
    } finally {
      await service.stop("SIGTERM");
    }
  } finally {
    await Deno.remove(bodies, { recursive: true });
    if (!environment.DATA_DIR) await Deno.remove(dataDir, { recursive: true });
    await database.remove();
  }
}

/** Sends a request again and again, one at a time; `stop` returns the milliseconds, ascending. */
function startProbe(url: string, headers: Record<string, string>) {
  const client = Deno.createHttpClient({});
  const times: number[] = [];
  let isStopped = false;
  const probing = (async () => {
    while (!isStopped) {
      const begun = performance.now();
      const response = await fetch(url, { headers, client });
      await response.arrayBuffer();
      if (response.status !== 200) throw new Error(`${url}: status ${response.status}`);
      times.push(performance.now() - begun);
      await pause(PROBE_PAUSE_MS);
    }
  })();
  return {
    async stop(): Promise<number[]> {
      isStopped = true;
      await probing;
      client.close();
      return times.sort((a, b) => a - b);
    },
  };
}

function sampleHandles(pid: number) {
  let most = 0;
  let isStopped = false;
  const sampling = (async () => {
    while (!isStopped) {
      most = Math.max(most, (await usageOf(pid)).handles);
      await pause(SAMPLE_MS);
    }
  })();
  return {
    async stop(): Promise<number> {
      isStopped = true;
      await sampling;
      return most;
    },
  };
}

async function peakMegabytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024);
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PROCESSED_WITHIN_MS;
  while (!await isDone()) {
    if (performance.now() > deadline) throw new Error("not processed in time");
    await pause(50);
  }
}

/** True when no archive waits. */
async function isEmpty(folder: string): Promise<boolean> {
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    if (name.startsWith(".")) continue;
    if (!isDirectory || !await isEmpty(join(folder, name))) return false;
  }
  return true;
}

function bodyOf(load: DoorLoad, no: number): Uint8Array | ReadableStream<Uint8Array> {
  return load.kind === "form" ? formBody(load, no) : archiveBody(load, no);
}

function formBody({ files }: DoorLoad, no: number): Uint8Array {
  const parts = Array.from(
    { length: files },
    (_, index) =>
      `--${BOUNDARY}\r\nContent-Disposition: form-data; name="report"; ` +
      `filename="TEST-${index}.xml"\r\nContent-Type: text/xml\r\n\r\n` +
      `${reportOf(`${no}-${index}`)}\r\n`,
  );
  return new TextEncoder().encode(`${parts.join("")}--${BOUNDARY}--\r\n`);
}

function archiveBody({ files }: DoorLoad, no: number): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return ReadableStream.from(writeArchive({
    facts: {
      repository: { owner: "acme", name: "shop" },
      commitOid: "4f2a9c1",
      treeOid: null,
      environment: "",
      job: "",
      workflow: "",
      shard: "",
      attempt: "",
      runner: "",
      branch: "main",
      buildUrl: "",
      repositoryUrl: "",
      tags: [],
      recordedAt: Math.floor(Date.now() / 1000) - 7_200,
    },
    codeowners: null,
    files: Array.from({ length: files }, (_, index) => {
      const bytes = encoder.encode(reportOf(`${no}-${index}`));
      const open = () => new Blob([bytes]).stream();
      return { path: `test-results/TEST-${index}.xml`, size: bytes.length, open };
    }),
  }));
}

function reportOf(name: string): string {
  return `<testsuite name="unit"><testcase classname="c" name="test ${name}" time="0.01"/></testsuite>`;
}
