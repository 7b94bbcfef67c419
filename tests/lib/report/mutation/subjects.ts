/** The readers that are given damaged files, each with fixtures to damage. One line adds another. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { inspectArchive, readArchived } from "../../../../lib/report/archive/mod.ts";
import { CoverageCollector } from "../../../../lib/report/coverage/mod.ts";
import { readReport } from "../../../../lib/report/read_report.ts";
import type { TestResult } from "../../../../lib/report/result.ts";
import { archiveOf, reportOf, sourceOf, tarOf } from "../archive/make_archive.ts";
import { inChunks } from "../reading.ts";

/** What errors call the file that is read. */
export const FILE = "damaged";

/** A reader with what it can read. */
export interface Subject {
  name: string;
  /** Whole files. */
  fixtures(): Promise<Uint8Array[]>;
  /**
   * Reads a damaged file, a few bytes at a time.
   *
   * @returns what was read, the same whatever the pieces
   * @throws {ReportError} nothing else
   */
  read(bytes: Uint8Array, chunkBytes: number): Promise<unknown>;
}

// Small ones show more in the same time.
const MAX_FIXTURE_BYTES = 20_000;

export const SUBJECTS: readonly Subject[] = [
  { name: "JUnit", fixtures: () => filesBelow("junit", /\.xml$/), read: readAsReport },
  {
    name: "TRX, NUnit, CTRF, go test",
    fixtures: () => filesBelow("laboratory", /(?:trx|nunit|ctrf|go_test)[^/]*\/(?!truth).*\.\w+$/),
    read: readAsReport,
  },
  {
    name: "coverage",
    fixtures: () => filesBelow("coverage", /\.(?!md$)\w+$/),
    read: readAsCoverage,
  },
  { name: "archive", fixtures: archives, read: readAsArchive },
  // Damage in the tar: of a damaged gzip hardly anything comes out.
  {
    name: "archive's tar",
    fixtures: tars,
    read: (bytes, chunkBytes) =>
      readAsArchive(new Uint8Array(gzipSync(bytes, { level: 1 })), chunkBytes),
  },
];

function filesBelow(folder: string, pattern: RegExp): Promise<Uint8Array[]> {
  const root = new URL(`../../../../fixtures/${folder}/`, import.meta.url);
  const names = readdirSync(root, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => pattern.test(name))
    .map((name) => new Uint8Array(readFileSync(new URL(name.replaceAll("\\", "/"), root))));
  return Promise.resolve(files.filter(({ length }) => length <= MAX_FIXTURE_BYTES));
}

async function readAsReport(bytes: Uint8Array, chunkBytes: number): Promise<TestResult[]> {
  const results: TestResult[] = [];
  await readReport(inChunks(bytes, chunkBytes), {
    file: FILE,
    onResult: (result) => results.push(result),
    onNote: (note) => assert.match(note, /^damaged(:\d+:\d+: .+|: found no test result.*)$/),
  });
  for (const result of results) {
    const { name, message, body, durationMicroseconds } = result;
    assert.notEqual(name, "");
    assert.ok(Number.isSafeInteger(durationMicroseconds) && durationMicroseconds >= 0);
    assert.ok(Array.from(message).length <= 1_000 && !/[\n\r]/.test(message));
    // deno-lint-ignore no-control-regex
    assert.ok(Array.from(body).length <= 16_384 && !/[\0-\x08\x0b-\x1f\x7f-\x9f]/.test(body));
    for (const value of Object.values(result)) {
      assert.ok(String(value).isWellFormed() && !String(value).includes("\0"));
    }
  }
  return results;
}

async function readAsCoverage(bytes: Uint8Array, chunkBytes: number): Promise<unknown> {
  const collector = new CoverageCollector();
  await collector.add(inChunks(bytes, chunkBytes), { file: FILE });
  const totals = collector.totals();
  assert.ok(Number.isSafeInteger(totals.lineCount));
  assert.ok(totals.coveredLineCount >= 0 && totals.coveredLineCount <= totals.lineCount);
  return totals;
}

async function readAsArchive(bytes: Uint8Array, chunkBytes: number): Promise<unknown> {
  const source = { ...sourceOf(bytes, chunkBytes), name: FILE };
  const contents = await inspectArchive(source);
  const files = [...contents.reports, ...contents.coverage]
    .sort((a, b) => a.ordinal - b.ordinal);
  const lengths: number[] = [];
  for await (const entry of readArchived(source, files, { digest: contents.digest })) {
    let length = 0;
    for await (const piece of entry.bytes) length += piece.length;
    assert.equal(length, entry.size);
    lengths.push(length);
  }
  return { ...contents, lengths };
}

const OLD_METADATA = `---
:branch: main
:build_url: https://ci.example/builds/7
:build_url: https://ci.example/builds/8
:check: github-actions
:ci_provider: github-actions
:commit: ${"a".repeat(40)}
:repo_name_with_owner: acme/shop
:tags:
- ''
:timestamp: 1767322800000000000
:tree: ${"b".repeat(40)}
`;
const NEW_METADATA = `version: "1.0"
git:
  commit: ${"a".repeat(40)}
  branch: main
  tree: ${"b".repeat(40)}
  repository: {owner: acme, name: shop}
ci: {provider: gitlab-ci, build_url: "https://ci.example/builds/9"}
tags: [nightly, web]
`;
const ENTRIES: [string, string][][] = [
  [
    [`test_results/${"deep/".repeat(30)}a.xml`, reportOf("a")],
    ["test_results//srv/b.xml", reportOf("b")],
    ["coverage/lcov.info", "SF:a.ts\nDA:1,1\nend_of_record\n"],
    ["coverage/empty.xml", ""],
    ["CODEOWNERS", "* @acme/all\n"],
    ["buildpulse.yml", OLD_METADATA],
    ["buildpulse.log", "uploading\n"],
  ],
  [
    ["buildpulse.yml", NEW_METADATA],
    ["test-results/größe.xml", reportOf("a")],
    ["test-results/größe.xml", reportOf("c")],
    ["coverage/c.xml", "<coverage line-rate='1'/>"],
  ],
];

function archives(): Promise<Uint8Array[]> {
  return Promise.all(ENTRIES.map((entries) => archiveOf(entries)));
}

function tars(): Promise<Uint8Array[]> {
  return Promise.all(ENTRIES.map((entries) => tarOf(entries)));
}
