/**
 * What waiting for the disk costs the embedded database: milliseconds until an upload of 2,000 tests is
 * acknowledged, with `fsync` and with an `fsync` that does nothing.
 *
 * `deno run -A --config tests/deno.json tools/measure/bench/fsync.ts [FOLDER]`; FOLDER is on the disk to measure
 * (default: the one for temporary files). It takes half a minute.
 */
import fs from "node:fs";
import { join } from "node:path";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { createRepository } from "../../../db/admin/repositories.ts";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { commitSubmission } from "../../../tests/commit_submission.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";

const UPLOADS = 100;
const TESTS = 2_000;
const FAILURES = 5;

const { fsyncSync } = fs;
let fsyncCount = 0;

/** The results of one run; the failures are of other tests each time. */
function contentOf(upload: number) {
  const builder = new SubmissionBuilder();
  for (let test = 0; test < TESTS; test++) {
    const isFailure = (test + upload) % (TESTS / FAILURES) === 0;
    builder.add({
      suite: "unit",
      class: `shop.Class${test % 100}`,
      name: `test ${test}`,
      file: `src/class_${test % 100}_test.ts`,
      conclusion: isFailure ? "failure" : "passing",
      durationMicroseconds: (test * 7919 + upload * 104_729) % 50_000,
      message: isFailure ? `expected ${upload}` : "",
      body: "",
    });
  }
  return builder.finish();
}

async function measure(name: string, folder: string, fsync: typeof fsyncSync): Promise<void> {
  fs.fsyncSync = (descriptor) => {
    fsyncCount++;
    fsync(descriptor);
  };
  const dataDir = await Deno.makeTempDir({ dir: folder, prefix: "test-analytics-fsync-" });
  const startedAt = performance.now();
  const { sql, close } = await openDatabase({ dataDir });
  try {
    await migrate(sql);
    const createdMs = performance.now() - startedAt;
    const createdAt = Math.floor(Date.now() / 1000);
    const organization = await createOrganization(sql, {
      name: "acme",
      purchaseUnitCount: 0,
      createdAt,
    });
    const { repositoryId } = await createRepository(sql, {
      organization: organization!,
      owner: "acme",
      name: "shop",
      createdAt,
    });
    const times: number[] = [];
    fsyncCount = 0;
    for (let upload = 0; upload < UPLOADS; upload++) {
      const content = contentOf(upload);
      const digest = String(upload).padStart(64, "0");
      const uploadedAt = performance.now();
      await commitSubmission(sql, {
        repositoryId,
        commitOid: digest.slice(-40),
        treeOid: null,
        branch: "main",
        buildUrl: "",
        tags: [],
        recordedAt: createdAt - UPLOADS + upload,
        uploadedAt: createdAt,
        reportDigest: digest,
        content,
        coverage: null,
      });
      times.push(performance.now() - uploadedAt);
    }
    const sum = times.reduce((a, b) => a + b);
    times.sort((a, b) => a - b);
    const at = (share: number) => times[Math.floor(share * (times.length - 1))]!.toFixed(1);
    print(
      `${name}: created in ${(createdMs / 1000).toFixed(1)} s; an upload takes ${at(0.5)} ms ` +
        `(99 %: ${at(0.99)}, at most ${at(1)}), ${(UPLOADS / sum * 1000).toFixed(0)} a second; ` +
        `${(fsyncCount / UPLOADS).toFixed(1)} fsyncs each`,
    );
  } finally {
    await close();
    await Deno.remove(dataDir, { recursive: true });
    fs.fsyncSync = fsyncSync;
  }
}

/** How long one fsync of this disk takes, after a write of one page. */
function measureDisk(folder: string): void {
  const path = join(folder, `test-analytics-fsync-${crypto.randomUUID()}`);
  const file = fs.openSync(path, "w");
  const startedAt = performance.now();
  for (let write = 0; write < UPLOADS; write++) {
    fs.writeSync(file, new Uint8Array(8192), 0, 8192, write * 8192);
    fsyncSync(file);
  }
  print(`one fsync: ${((performance.now() - startedAt) / UPLOADS).toFixed(2)} ms`);
  fs.closeSync(file);
  fs.unlinkSync(path);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}

if (import.meta.main) {
  const folder = Deno.args[0] ?? Deno.env.get("TMPDIR") ?? "/tmp";
  measureDisk(folder);
  await measure("without", folder, () => {});
  await measure("with fsync", folder, fsyncSync);
}
