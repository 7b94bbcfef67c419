// Tests: tests/lib/cli/transcripts_test.ts tests/lib/cli/commands/ingest_archive_test.ts

import * as v from "valibot";
import type { RunFacts } from "../../report/archive/mod.ts";
import { shortCommit } from "../../base/commit.ts";
import { plural } from "../../base/text.ts";
import { PROGRAM } from "../../base/version.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { argument, type Values } from "../parameters.ts";
import { UsageError } from "../../base/failure.ts";
import { ArchiveReader } from "../../intake/archive_reader.ts";
import { findCodeowners } from "../codeowners_file.ts";
import { progressListener } from "../output.ts";
import { type Listener, readUploadFiles, type UploadFiles } from "../../intake/read_files.ts";
import { factsOfRun, givenCommit, jobStartOf, requireFiles, RUN_OPTIONS } from "../run_options.ts";
import { type StoredUpload, storeUpload } from "../../intake/store_upload.ts";
import { openOrganization, ORG } from "../organization.ts";
import { fileSource } from "../../storage/folder.ts";

const INPUT = {
  reports: argument(
    "report files (JUnit, CTRF, TRX, NUnit 3, go test -json), folders (all *.xml below them), globs; or one archive (*.gz)",
    v.array(v.string()),
  ),
  org: ORG,
  ...RUN_OPTIONS,
};
type Options = Values<typeof INPUT>;

/** Bounds the output when a change breaks most tests. */
const MAX_LISTED_TESTS = 20;

const ARCHIVE = /\.(gz|tgz)$/i;

export const ingestCommand: AddCommand = command({
  name: "ingest",
  summary: "Store the reports of one CI run and print the key of the submission",
  example: "ingest --org acme --repo acme/shop --commit 4f2a9c1 reports/",
  input: INPUT,
  async run(options, context) {
    requireFiles(options);
    const isArchive = options.reports.some((path) => ARCHIVE.test(path));
    if (isArchive && options.reports.length > 1) {
      throw new UsageError("expected either one archive (*.gz) or reports");
    }
    const listener = progressListener(context);
    const prepare = isArchive ? prepareArchive : prepareReports;
    const read = await prepare(options, context, listener);
    // Before the reports are read, which may take long.
    const { sql, organization } = await openOrganization(context, options.org, options.repo?.owner);
    const { facts, files } = await read();
    // Reports are read by now: shares of `split` as of a moment before change no more.
    const now = context.io.now();
    const stored = await storeUpload(sql, organization, facts, files, {
      now,
      isStoredOnce: true,
    });
    for (const note of stored.notes) listener.note(note);
    for (const line of summaryLines(stored, files, facts, context)) listener.note(line);
    const advice = stored.outcome.duplicate ? [] : files.results?.advice ?? [];
    for (const { about, found, instead } of advice) {
      // Nothing in a report tells whether this helps: only doctor says it.
      if (about !== "loading") listener.note(`${found}: ${instead}`);
    }
    listener.clear();
    const { key } = stored.outcome;
    if (key !== null || context.json) await context.print(key ?? "", stored.outcome);
  },
});

// Reports are read in this thread: they are the caller's own files, and a signal ends the process.
async function prepareReports(options: Options, context: CommandContext, listener: Listener) {
  const facts = await factsOfRun(options, context);
  const codeowners = await findCodeowners(options.codeowners, context);
  const { checkoutFolder, exitCode } = facts;
  const jobStart = await jobStartOf(facts, options, context);
  return async () => ({
    facts,
    files: await readUploadFiles(
      { ...options, exitCode, codeowners, checkoutFolder, jobStart },
      listener,
    ),
  });
}

// An archive comes from elsewhere: it is read as by `watch`, in a worker thread and under a deadline.
async function prepareArchive(options: Options, context: CommandContext, listener: Listener) {
  const { coverage, codeowners } = options;
  const [path = ""] = options.reports;
  const given = { ...options, commit: await givenCommit(options, context) };
  return async () => {
    const reader = new ArchiveReader();
    try {
      const { facts, files } = await reader.read(fileSource(path), {
        given,
        now: context.now,
        recordedAt: context.now,
        // Options take precedence over the archive.
        codeowners: codeowners && (await findCodeowners(codeowners, context))?.text,
        hasOwnCoverage: coverage.length > 0,
        listener,
      });
      const own = await readUploadFiles({ reports: [], coverage }, listener);
      return { facts, files: { ...files, coverage: own.coverage ?? files.coverage } };
    } finally {
      reader.close();
    }
  };
}

/** Summary for people. JSON has results, failures and flaky tests. */
function summaryLines(
  { outcome, droppedTags, newlyDisruptive }: StoredUpload,
  { results, coverage }: UploadFiles,
  { branch }: RunFacts,
  { json }: CommandContext,
): string[] {
  const { repository, commit_oid, test_result_count, disruption_count, duplicate } = outcome;
  if (duplicate) {
    const change = coverage ? "replaced its coverage" : "nothing changed";
    const tags = droppedTags.length > 0 ? [`ignored the new tags ${droppedTags.join(", ")}`] : [];
    return [`these reports were already uploaded: ${change}`, ...tags];
  }
  if (!results) {
    const { coveredLineCount = 0, lineCount = 0 } = coverage ?? {};
    const lines = `${coveredLineCount} of ${plural(lineCount, "line")}`;
    return lineCount > 0 ? [`stored coverage of ${repository}: ${lines}; no submission`] : [];
  }
  if (json) return [];
  const failures = results.content.negatives.length;
  const flaky = disruption_count > 0 ? `, ${disruption_count} of them flaky` : "";
  const place = [repository, branch, shortCommit(commit_oid)].filter(Boolean).join(" ");
  const listed = newlyDisruptive.slice(0, MAX_LISTED_TESTS)
    .map(({ class: className, name, file }) => `  ${name} (${file || className})`);
  const more = newlyDisruptive.length - listed.length;
  return [
    `${place}: ${plural(test_result_count, "result")}, ${failures} failed${flaky}`,
    ...newlyDisruptive.length > 0 ? [`new flaky tests: ${newlyDisruptive.length}`] : [],
    ...listed,
    ...more > 0 ? [`  and ${more} more: ${PROGRAM} flaky --repo ${repository}`] : [],
  ];
}
