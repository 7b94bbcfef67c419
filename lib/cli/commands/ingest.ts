import type { RunFacts } from "../../report/archive/mod.ts";
import { plural } from "../../base/text.ts";
import { PROGRAM } from "../../base/version.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { argument, type Values } from "../parameters.ts";
import { UsageError } from "../errors.ts";
import { ArchiveReader } from "../intake/archive_reader.ts";
import { findCodeowners } from "../intake/codeowners_file.ts";
import { progressListener } from "../output.ts";
import { type Listener, readUploadFiles, type UploadFiles } from "../intake/read_files.ts";
import {
  factsOfRun,
  givenCommit,
  REPORTS,
  requireFiles,
  RUN_OPTIONS,
} from "../intake/run_options.ts";
import { type IntakeOutcome, type StoredUpload, storeUpload } from "../intake/store_upload.ts";
import { ORG, requireOrganization } from "../resources.ts";
import { fileSource } from "../storage/folder.ts";

const INPUT = {
  reports: argument(
    "JUnit XML files, folders (all *.xml below them), globs; or one archive (*.gz)",
    REPORTS,
  ),
  org: ORG,
  ...RUN_OPTIONS,
};
type Options = Values<typeof INPUT>;

/** An upload that was read and can be stored. */
interface ReadUpload {
  facts: RunFacts;
  files: UploadFiles;
}

/** A change that breaks everything is not a list to read. */
const MAX_LISTED_TESTS = 20;

const ARCHIVE = /\.(gz|tgz)$/i;

export const ingestCommand: AddCommand = command({
  name: "ingest",
  summary: "Store the reports of one CI run; prints the key of the submission",
  example: "ingest --org acme --repo acme/shop --commit 4f2a9c1 reports/",
  input: INPUT,
  async run(options, context) {
    requireFiles(options);
    const [report = "", ...others] = options.reports;
    const isArchive = options.reports.some((path) => ARCHIVE.test(path));
    if (isArchive && others.length > 0) {
      throw new UsageError("expected either one archive (*.gz) or reports");
    }
    const listener = progressListener(context);
    const outcome = isArchive
      ? await ingestArchive(report, options, { context, listener })
      : await ingestReports(options, { context, listener });
    listener.clear();
    if (outcome.key !== null || context.json) await context.print(outcome.key ?? "", outcome);
  },
});

interface Intake {
  context: CommandContext;
  listener: Listener;
}

// Reports are read in this thread: they are the caller's own files, and a signal ends the process.
async function ingestReports(options: Options, intake: Intake): Promise<IntakeOutcome> {
  const facts = await factsOfRun(options, intake.context);
  const codeowners = await findCodeowners(options.codeowners, intake.context);
  return await store(options.org, intake, async () => ({
    facts,
    files: await readUploadFiles(
      { ...options, codeowners, checkoutFolder: facts.checkoutFolder },
      intake.listener,
    ),
  }));
}

// An archive comes from elsewhere: it is read as by `watch`, in a worker thread and under a deadline.
async function ingestArchive(
  path: string,
  options: Options,
  intake: Intake,
): Promise<IntakeOutcome> {
  const { context, listener } = intake;
  const source = fileSource(path);
  const { repo, tree, branch, buildUrl, recordedAt, tags } = options;
  const commit = await givenCommit(options, context);
  const given = { repo, commit, tree, branch, buildUrl, recordedAt, tags };
  const reader = new ArchiveReader();
  try {
    return await store(options.org, intake, async () => {
      const { codeowners } = options;
      const { facts, files } = await reader.read(source, {
        given,
        now: context.now,
        recordedAt: context.now,
        // Options win over the archive.
        codeowners: codeowners && (await findCodeowners(codeowners, context))?.text,
        hasOwnCoverage: options.coverage.length > 0,
        listener,
      });
      const more = await readUploadFiles({ reports: [], coverage: options.coverage }, listener);
      return { facts, files: { ...files, coverage: more.coverage ?? files.coverage } };
    });
  } finally {
    reader.close();
  }
}

async function store(
  organization: string,
  { context, listener }: Intake,
  read: () => Promise<ReadUpload>,
): Promise<IntakeOutcome> {
  const { sql } = await context.openDatabase();
  // Before the reports are read, which may take long.
  await requireOrganization(sql, organization);
  const { facts, files } = await read();
  const { now } = context;
  const stored = await storeUpload(sql, { ...facts, organization }, files, { now });
  const { outcome, droppedTags } = stored;
  if (outcome.duplicate) {
    const changed = files.coverage ? "replaced its coverage" : "nothing changed";
    listener.note(`these reports were already uploaded: ${changed}`);
    if (droppedTags.length > 0) listener.note(`ignored the new tags ${droppedTags.join(", ")}`);
  }
  if (files.results && !outcome.duplicate && !context.json) {
    const failures = files.results.content.negatives.length;
    for (const line of summaryLines(stored, { failures, branch: facts.branch })) {
      listener.note(line);
    }
  }
  const { coverage, repository } = outcome;
  if (outcome.key === null && coverage && coverage.line_count > 0) {
    const { covered_line_count: covered, line_count: lines } = coverage;
    listener.note(
      `stored coverage of ${repository}: ${covered} of ${plural(lines, "line")}; no submission`,
    );
  }
  return outcome;
}

/** Summary for people: results, failures, new flaky tests. */
function summaryLines(
  { outcome, newlyDisruptive }: StoredUpload,
  { failures, branch }: { failures: number; branch: string | null },
): string[] {
  const { repository, commit_oid, test_result_count, disruption_count } = outcome;
  const flaky = disruption_count > 0 ? `, ${disruption_count} of them flaky` : "";
  const place = [repository, branch, commit_oid.slice(0, 12)].filter(Boolean).join(" ");
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
