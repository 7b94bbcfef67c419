import type { Command } from "commander";
import * as v from "valibot";
import { fileSource } from "../intake/archive_file.ts";
import { findCodeowners } from "../intake/codeowners_file.ts";
import { addCommand, type CliIo, type CommandContext } from "../command.ts";
import { UsageError } from "../errors.ts";
import {
  type IntakeOutcome,
  type Listener,
  readUploadFiles,
  storeUpload,
  type UploadFacts,
  type UploadFiles,
} from "../intake/read_upload.ts";
import { requireOrganization } from "../lookup.ts";
import { progressLine } from "../intake/progress.ts";
import { factsOfRun, givenCommit, RUN_OPTIONS, runInput } from "../intake/ci_run.ts";
import { lineOfText } from "../values.ts";

const input = v.pipe(
  v.object({ reports: v.array(v.string()), org: lineOfText, ...runInput }),
  v.check(
    ({ reports, coverage }) => reports.length + coverage.length > 0,
    "expected a REPORT, or --coverage FILE",
  ),
);
type Options = v.InferOutput<typeof input>;

/** An upload that was read and can be stored. */
interface ReadUpload {
  facts: Omit<UploadFacts, "organization">;
  files: UploadFiles;
}

/** `ingest`: takes reports in, from where the database is. */
export function addIngest(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "ingest",
    summary: "Take in the reports of one CI run",
    example: "ingest --org acme --repo acme/shop --commit 4f2a9c1 reports/",
    arguments: [{
      flags: "[reports...]",
      meaning: "JUnit XML files, folders (every *.xml below them) or globs; or one archive (*.gz)",
    }],
    options: [
      { flags: "--org <name>", meaning: "organization, which must exist", required: true },
      ...RUN_OPTIONS,
    ],
    input,
    async run(options, context) {
      const [report = "", ...others] = options.reports;
      const isArchive = options.reports.some((path) => ARCHIVE.test(path));
      if (isArchive && others.length > 0) {
        throw new UsageError("an archive is taken in alone: expected one *.gz file, or reports");
      }
      const progress = progressLine(context.io);
      const listener: Listener = {
        note: (text) => {
          progress.clear();
          context.note(text);
        },
        progress: ({ results, file }) => progress.show(`${results} results read, now ${file}`),
      };
      const outcome = isArchive
        ? await ingestArchive(report, options, { context, listener })
        : await ingestReports(options, { context, listener });
      progress.clear();
      if (outcome.key !== null || context.json) await context.print(outcome.key ?? "", outcome);
    },
  });
}

const ARCHIVE = /\.(gz|tgz)$/i;

interface Surroundings {
  context: CommandContext;
  listener: Listener;
}

async function ingestReports(
  options: Options,
  { context, listener }: Surroundings,
): Promise<IntakeOutcome> {
  const facts = await factsOfRun(options, context);
  const codeowners = await findCodeowners(options.codeowners, context);
  return await store(options.org, { context, listener }, async () => ({
    facts,
    files: await readUploadFiles(
      { ...options, codeowners, checkoutFolder: facts.checkoutFolder },
      listener,
    ),
  }));
}

async function ingestArchive(
  path: string,
  options: Options,
  { context, listener }: Surroundings,
): Promise<IntakeOutcome> {
  const { now } = context;
  // What archives need takes longer to load than most reports to read.
  const { openArchive, readArchiveFiles } = await import("../intake/read_archive.ts");
  const source = fileSource(path);
  const given = { ...options, commit: await givenCommit(options, context) };
  return await store(options.org, { context, listener }, async () => {
    const { contents, facts } = await openArchive(source, {
      given,
      now,
      recordedAt: now,
      listener,
    });
    // What is given replaces what the archive has.
    const codeowners = options.codeowners === undefined
      ? contents.codeowners
      : (await findCodeowners(options.codeowners, context))?.text ?? null;
    const coverage = options.coverage.length > 0 ? [] : contents.coverage;
    const files = await readArchiveFiles(source, { ...contents, codeowners, coverage }, {
      listener,
      mayBeEmpty: options.coverage.length > 0,
    });
    const more = await readUploadFiles(
      { reports: [], coverage: options.coverage },
      listener,
    );
    return {
      facts,
      files: { ...files, coverage: more.coverage ?? files.coverage },
    };
  });
}

async function store(
  organization: string,
  { context, listener }: Surroundings,
  read: () => Promise<ReadUpload>,
): Promise<IntakeOutcome> {
  const { sql } = await context.openDatabase();
  // Asked before the reports are read, which may take long; and again when they are stored.
  await requireOrganization(sql, organization);
  const { facts, files } = await read();
  const outcome = await storeUpload(sql, { ...facts, organization }, files, {
    now: context.now,
  });
  if (outcome.duplicate) {
    const changed = files.coverage ? "only the coverage was replaced" : "nothing changed";
    listener.note(`these reports were taken in before: ${changed}`);
  }
  return outcome;
}
