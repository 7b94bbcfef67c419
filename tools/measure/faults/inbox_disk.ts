/** Fills the disk of `up` with uploads: those that it accepts must be processed all the same. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { MIN_FREE_DISK_BYTES } from "../../../db/embedded/disk_space.ts";
import { FolderStorage } from "../../../lib/storage/folder.ts";
import { copyTemplate } from "../../../tests/database.ts";
import { start } from "../../../tests/e2e/program.ts";
import type { FaultOptions } from "./main.ts";
import { type Row, spread } from "./row.ts";
import { addToken, makeToken } from "./run_database.ts";
import { freeBytesOf, onSmallDisk, withTemporaryFolder } from "./small_disk.ts";
import { pause } from "../../../lib/base/delay.ts";

const MEGABYTE = 1024 * 1024;
const DISK_MEGABYTES = 230;

const UPLOADS = 30;
const CLIENTS = 3;
/** Failed tests of an upload, the same in all of them; the texts make it 10 MB. */
const FAILURES = 2_000;
const TEXT_BYTES = 5_000;

/** Uploads of 10 MB that `up` must accept on this disk. */
const MIN_ACCEPTED = 3;
const DRAINED_WITHIN_MS = 120_000;

/** Kills `up` after the first uploads, and restarts it after the last: each time the inbox must drain. */
export async function fullInboxDisk({ say }: FaultOptions): Promise<Row> {
  return await onSmallDisk(DISK_MEGABYTES, (disk) => uploadUntilFull(disk, say));
}

async function uploadUntilFull(disk: string, say: (text: string) => void): Promise<Row> {
  const dataDir = await withTemporaryFolder(disk, copyTemplate);
  const inbox = join(dataDir, "inbox");
  const opsPort = freePort();
  const environment = { DATA_DIR: dataDir, OPS_PORT: String(opsPort) };
  const token = await makeToken(environment);
  const uploadToken = await addToken(environment, "--upload");
  const startUp = () => start(["up", "--port", "0", "--upload-port", "0"], environment);
  const sampler = sampleFreeBytes(disk);
  let up = await startUp();
  let uploadCount = 0;
  let accepted = 0;
  /** Uploads by as many clients, which obey Retry-After. */
  const upload = async (until: number) => {
    while (uploadCount < until) {
      const commit = (++uploadCount).toString(16).padStart(40, "0");
      const response = await fetch(`${up.uploadUrl}/upload/acme/shop?commit=${commit}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${uploadToken}` },
        body: reportText(),
      });
      const text = await response.text();
      say(`${response.status}, ${megabytes(await freeBytesOf(disk))} MB free`);
      if (response.status === 202) accepted++;
      else {
        assert.equal(response.status, 503, text);
        const retryAfter = Number(response.headers.get("retry-after"));
        assert.ok(retryAfter > 0);
        await pause(retryAfter * 1000);
      }
    }
  };
  const uploadTogether = (until: number) =>
    Promise.all(Array.from({ length: CLIENTS }, () => upload(until)));
  const recoveryMs: number[] = [];
  let left = 0;
  const restart = async (signal: "SIGTERM" | "SIGKILL") => {
    await up.stop(signal);
    left += await archivesIn(inbox);
    const startedAt = performance.now();
    up = await startUp();
    while (await archivesIn(inbox) > 0) {
      assert.ok(performance.now() - startedAt < DRAINED_WITHIN_MS, "archives stay in the inbox");
      await pause(100);
    }
    recoveryMs.push(performance.now() - startedAt);
  };
  try {
    await uploadTogether(CLIENTS);
    await restart("SIGKILL");
    await uploadTogether(UPLOADS);
    await restart("SIGTERM");
    const response = await fetch(`${up.url}/api/repos/acme/shop/submissions?limit=1`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.equal((await response.json()).count, accepted, "all accepted uploads are visible");
    assert.ok(accepted >= MIN_ACCEPTED, `only ${accepted} were accepted`);
    const leastFree = await sampler.stop();
    assert.ok(leastFree >= MIN_FREE_DISK_BYTES, `${megabytes(leastFree)} MB were free`);
    const ops = async (path: string) =>
      await (await fetch(`http://127.0.0.1:${opsPort}${path}`)).text();
    say(await ops("/ready"));
    const gauges = (await ops("/metrics")).match(/^test_analytics_disk_\w+_bytes \d+$/gm) ?? [];
    say(gauges.join(", "));
    assert.equal(gauges.length, 2);
    return {
      fault: `${UPLOADS} uploads of 10 MB at \`up\` on a disk of ${DISK_MEGABYTES} MB, ` +
        "with `kill -9` and a restart",
      database: "embedded",
      tries: 1,
      seen: `${accepted} × 202, ${UPLOADS - accepted} × 503; ` +
        `at least ${megabytes(leastFree)} MB free`,
      lost: "nothing",
      recovery: `${spread(recoveryMs)} until the inbox was empty (${left} archives left by then)`,
    };
  } finally {
    await sampler.stop();
    await up.stop("SIGTERM");
  }
}

/** Looks at the free bytes of a disk until `stop`, which returns the fewest. */
function sampleFreeBytes(disk: string): { stop(): Promise<number> } {
  let leastFree = Infinity;
  let isStopped = false;
  const sampling = (async () => {
    while (!isStopped) {
      leastFree = Math.min(leastFree, await freeBytesOf(disk));
      await pause(10);
    }
  })();
  return {
    async stop() {
      isStopped = true;
      await sampling;
      return leastFree;
    },
  };
}

/** A report of 10 MB, about half of which is left when it is compressed. */
function reportText(): string {
  const cases = Array.from({ length: FAILURES }, (_, i) => {
    const text = crypto.getRandomValues(new Uint8Array(TEXT_BYTES / 2)).toHex();
    return `<testcase classname="c" name="test ${i}"><failure>${text}</failure></testcase>`;
  });
  return `<testsuite name="unit">${cases.join("")}</testsuite>`;
}

async function archivesIn(inbox: string): Promise<number> {
  let count = 0;
  for await (const batch of new FolderStorage(inbox).list()) count += batch.length;
  return count;
}

function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

function megabytes(bytes: number): number {
  return Math.floor(bytes / MEGABYTE);
}
