/** Uploads whose effect on every response is known. */
import { join } from "node:path";
import { archivePath, writeArchive } from "../../../lib/report/archive/write_archive.ts";
import { formatTimestamp } from "../../../lib/base/time.ts";

/** The upload of one CI run. */
export interface Upload {
  no: number;
  repository: string;
  commit: string;
  buildUrl: string;
  /** Seconds since 1970. */
  recordedAt: number;
  /** Number of tests that only this upload has. */
  testCount: number;
  /** Two tests fail and pass in it: one of all such uploads, and one of its own. */
  isFlaky: boolean;
  tag: string;
  coverage: { covered: number; lines: number } | null;
}

/** Name of the test that is flaky in several uploads. */
export const FLAKY_EVERYWHERE = "flaky everywhere";

/** Name of the test that is flaky in this upload only. */
export function ownFlakyName({ no }: Upload): string {
  return `flaky of ${no}`;
}

/** Upload number `no` of a repository. Its tests ran `no` minutes after `since`. */
export function makeUpload(
  no: number,
  { repository, since, testCount }: { repository: string; since: number; testCount: number },
): Upload {
  return {
    no,
    repository,
    commit: no.toString(16).padStart(40, "0"),
    buildUrl: `https://ci.example.com/${no}`,
    recordedAt: since + no * 60,
    testCount,
    isFlaky: no % 3 !== 2,
    tag: `shard-${no % 5}`,
    coverage: no % 2 === 0 ? { covered: 1 + no % 7, lines: 8 } : null,
  };
}

/** Number of its results. */
export function resultCount({ testCount, isFlaky }: Upload): number {
  return testCount + (isFlaky ? 4 : 0);
}

/** Writes the files of an upload into a folder; returns the arguments of `ingest`. */
export async function writeForIngest(upload: Upload, folder: string): Promise<string[]> {
  const report = join(folder, `${upload.no}.xml`);
  await Deno.writeTextFile(report, reportText(upload));
  const args = [
    "ingest",
    "--org",
    "acme",
    "--repo",
    upload.repository,
    "--commit",
    upload.commit,
    "--build-url",
    upload.buildUrl,
    "--recorded-at",
    formatTimestamp(upload.recordedAt),
    "--tags",
    upload.tag,
  ];
  const coverage = coverageText(upload);
  if (coverage !== null) {
    await Deno.writeTextFile(join(folder, `${upload.no}.lcov`), coverage);
    args.push("--coverage", join(folder, `${upload.no}.lcov`));
  }
  return [...args, report];
}

/** Puts the archive of an upload into a watched folder; returns its key. */
export async function putArchive(upload: Upload, folder: string): Promise<string> {
  const key = `${upload.no}.gz`;
  await putFile(archiveBytes(upload), { folder, key });
  return key;
}

/** The address and body of an upload to `receive`: a form, or every third time an archive. */
export async function requestOf(upload: Upload): Promise<{ path: string; body: BodyInit }> {
  const path = `/upload/${upload.repository}`;
  if (upload.no % 3 === 0) {
    return { path, body: await new Response(archiveBytes(upload)).arrayBuffer() };
  }
  const body = new FormData();
  body.append("report", new File([reportText(upload)], "a.xml"));
  const coverage = coverageText(upload);
  if (coverage !== null) body.append("coverage", new File([coverage], "lcov.info"));
  const parameters = new URLSearchParams({
    commit: upload.commit,
    branch: "main",
    build_url: upload.buildUrl,
    tags: upload.tag,
    recorded_at: formatTimestamp(upload.recordedAt),
  });
  return { path: `${path}?${parameters}`, body };
}

function archiveBytes(upload: Upload): ReadableStream<Uint8Array> {
  const [owner = "", name = ""] = upload.repository.split("/");
  const coverage = coverageText(upload);
  return ReadableStream.from(writeArchive({
    facts: {
      repository: { owner, name },
      commitOid: upload.commit,
      treeOid: null,
      environment: "",
      job: "",
      workflow: "",
      shard: "",
      attempt: "",
      runner: "",
      branch: "main",
      buildUrl: upload.buildUrl,
      repositoryUrl: "",
      provider: "",
      tags: [upload.tag],
      recordedAt: upload.recordedAt,
      checkoutFolder: "",
    },
    codeowners: null,
    files: [
      file(archivePath("test-results", "a.xml"), reportText(upload)),
      ...coverage === null ? [] : [file(archivePath("coverage", "lcov.info"), coverage)],
    ],
  }));
}

/** Puts an archive into a watched folder. */
export async function putFile(
  bytes: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array>,
  { folder, key }: { folder: string; key: string },
): Promise<void> {
  // Hidden until complete, and old enough that `watch` does not wait for further changes.
  await Deno.writeFile(join(folder, `.${key}`), bytes);
  const changed = new Date(Date.now() - 3_600_000);
  await Deno.utime(join(folder, `.${key}`), changed, changed);
  await Deno.rename(join(folder, `.${key}`), join(folder, key));
}

function reportText(upload: Upload): string {
  const passing = Array.from(
    { length: upload.testCount },
    (_, i) => `<testcase classname="c" name="test ${i} of ${upload.no}" time="0.00${i % 10}"/>`,
  );
  const flaky = upload.isFlaky
    ? [FLAKY_EVERYWHERE, ownFlakyName(upload)].map((name) =>
      `<testcase classname="c" name="${name}"><flakyFailure message="no ${upload.no}"/></testcase>`
    )
    : [];
  return `<testsuite name="unit">${passing.join("")}${flaky.join("")}</testsuite>`;
}

function coverageText({ coverage }: Upload): string | null {
  if (coverage === null) return null;
  const lines = Array.from(
    { length: coverage.lines },
    (_, i) => `DA:${i + 1},${i < coverage.covered ? 1 : 0}\n`,
  );
  return `SF:a.ts\n${lines.join("")}end_of_record\n`;
}

function file(path: string, text: string) {
  const bytes = new TextEncoder().encode(text);
  return { path, size: bytes.length, open: () => new Blob([bytes]).stream() };
}
