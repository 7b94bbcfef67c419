/**
 * Uploads to `receive`: 30 concurrent ones during a large and a slow one, and one of 1 GB, with the
 * memory used. `deno task measure receive` needs curl, the programs of PostgreSQL, and 4 GB in the folder of
 * temporary files. With the embedded database 300 MB would be that of PostgreSQL.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { pause } from "../../../lib/base/delay.ts";
import { start } from "../../../tests/e2e/program.ts";
import { addToken, createRunDatabase } from "../faults/run_database.ts";
import { Random } from "../bench/random.ts";

const CLIENTS = 30;
const MEGABYTE = 1_000_000;

const random = new Random(1);
const WORDS = Array.from({ length: 2_000 }, () => random.hex(32));

/** Writes a report of about this size; what tests print makes up most of it. */
async function writeReport(path: string, bytes: number): Promise<void> {
  using file = await Deno.open(path, { write: true, create: true, truncate: true });
  const encoder = new TextEncoder();
  let size = 0;
  file.writeSync(encoder.encode('<testsuite name="unit">'));
  for (let no = 0; size < bytes;) {
    let text = "";
    while (text.length < MEGABYTE) {
      const at = random.below(WORDS.length - 20);
      text += `<testcase classname="c${no % 500}" name="test ${no++}" time="0.01"><system-out>` +
        `${WORDS.slice(at, at + 20).join(" ")}</system-out></testcase>\n`;
    }
    size += file.writeSync(encoder.encode(text));
  }
  file.writeSync(encoder.encode("</testsuite>"));
}

const runDatabase = await createRunDatabase("server");
const folder = await Deno.makeTempDir({ prefix: "test-analytics-receive-bench-" });
const line = ["receive", "--to", join(folder, "inbox"), "--port", "0"];
const receiver = await start(line, runDatabase.environment);
const authorization = `Bearer ${await addToken(runDatabase.environment, "--upload")}`;
let count = 0;

/** Uploads a file with curl; returns the milliseconds until the 202. */
async function upload(path: string, ...options: string[]): Promise<number> {
  const begun = performance.now();
  const { stdout } = await new Deno.Command("curl", {
    args: [
      ...["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", `Authorization: ${authorization}`],
      ...["-T", path, ...options, `${receiver.url}/upload/acme/r${count++}?commit=4f2a9c1`],
    ],
  }).output();
  assert.equal(new TextDecoder().decode(stdout), "202");
  return performance.now() - begun;
}

async function uploadConcurrently(path: string): Promise<string> {
  const times = await Promise.all(Array.from({ length: CLIENTS }, () => upload(path)));
  const [first, middle, last] = [0, CLIENTS / 2, -1].map((at) =>
    times.toSorted((a, b) => a - b).at(at)!
  );
  return `first after ${Math.round(first!)} ms, median ${Math.round(middle!)} ms, last ${
    Math.round(last!)
  } ms`;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Greatest memory of the receiver so far, in MB. */
async function peakMegabytes(): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${receiver.pid}/status`);
  return Math.round(Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024 / MEGABYTE);
}

try {
  const [small, large, huge] = ["small", "large", "huge"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  await writeReport(small, 3 * MEGABYTE);
  await writeReport(large, 300 * MEGABYTE);
  await writeReport(huge, 1_000 * MEGABYTE);
  await upload(small);
  say(`- started: ${await peakMegabytes()} MB`);
  const seconds = Math.round(await upload(huge) / 1000);
  say(`- 1 GB alone: ${seconds} s; at most ${await peakMegabytes()} MB`);
  say(`- 3 MB alone: ${Math.round(await upload(small))} ms`);
  say(`- 30 concurrent uploads of 3 MB: ${await uploadConcurrently(small)}`);
  const others = [upload(large), upload(small, "--limit-rate", "200k")];
  await pause(2_000);
  say(`- the same during one of 300 MB and a slow one: ${await uploadConcurrently(small)}`);
  const [largeMs, slowMs] = await Promise.all(others);
  say(
    `- meanwhile 300 MB in ${Math.round(largeMs!)} ms, the slow one in ${Math.round(slowMs!)} ms`,
  );
  say(`- memory at most ${await peakMegabytes()} MB`);
} finally {
  await receiver.stop("SIGTERM");
  await Deno.remove(folder, { recursive: true });
  await runDatabase.remove();
}
