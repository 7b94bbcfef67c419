import type { Command } from "commander";
import * as v from "valibot";
import { findOrganization } from "../../db/organizations.ts";
import { addCommand, type CliIo } from "./command.ts";
import { Failure, UsageError } from "./errors.ts";
import { readUploadFiles, storeUpload } from "./intake.ts";
import { progressLine } from "./progress.ts";
import { lineOfText, readWith, repositoryName, timestamp } from "./values.ts";

// A clock may be off by a time zone; what is further ahead would stay on top of every list.
const MAX_SECONDS_AHEAD = 24 * 60 * 60;
const MAX_TEXT_CHARACTERS = 2_000;
const MAX_TAG_CHARACTERS = 200;
// Ids begin with four bytes of seconds.
const LAST_RECORDED_AT = 0xffff_ffff;

/** A value that an unset shell variable may leave empty; `""` then. */
const textOrEmpty = readWith((text) => {
  if (/\p{Cc}/u.test(text)) {
    throw new SyntaxError(`"${text}" has control characters: expected one line of text`);
  }
  if (text.length > MAX_TEXT_CHARACTERS) {
    throw new RangeError(`${text.length} characters: expected at most ${MAX_TEXT_CHARACTERS}`);
  }
  return text.trim();
});

const objectId = readWith((text) => {
  if (!/^[^\s\p{Cc}]{1,255}$/u.test(text)) {
    throw new SyntaxError(
      `"${text}" is no object id: expected 1 to 255 characters, no white space`,
    );
  }
  return text;
});

const objectIdOrEmpty = v.union([v.pipe(v.literal(""), v.transform(() => null)), objectId]);

const tags = readWith((text) => {
  const list = text.split(",").map((tag) => tag.trim()).filter((tag) => tag !== "");
  for (const tag of list) {
    if (/[\s\p{Cc}]/u.test(tag)) {
      throw new SyntaxError(`"${tag}" is no tag: expected no white space and no comma in it`);
    }
    if (tag.length > MAX_TAG_CHARACTERS) {
      throw new RangeError(`tag "${tag}": expected at most ${MAX_TAG_CHARACTERS} characters`);
    }
  }
  return [...new Set(list)];
});

const recordedAt = v.pipe(
  timestamp,
  v.check(
    (seconds) => seconds >= 0 && seconds <= LAST_RECORDED_AT,
    "expected a moment from 1970 to 2106",
  ),
);

const input = v.pipe(
  v.object({
    reports: v.array(v.string()),
    org: lineOfText,
    repo: repositoryName,
    commit: objectId,
    tree: v.optional(objectIdOrEmpty, ""),
    branch: v.optional(textOrEmpty, ""),
    buildUrl: v.optional(textOrEmpty, ""),
    recordedAt: v.optional(recordedAt),
    tags: v.optional(tags, ""),
    coverage: v.optional(v.array(v.string()), []),
  }),
  v.check(
    ({ reports, coverage }) => reports.length + coverage.length > 0,
    "expected a REPORT, or --coverage FILE",
  ),
);

/** `ingest`: takes reports in, from where the database is. */
export function addIngest(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "ingest",
    summary: "take in the reports of one CI run",
    example: "ingest --org acme --repo acme/shop --commit 4f2a9c1 reports/",
    arguments: [{
      flags: "[reports...]",
      meaning: "JUnit XML files, folders (every *.xml below them) or globs",
    }],
    options: [
      { flags: "--org <name>", meaning: "organization, which must exist", required: true },
      {
        flags: "--repo <owner/name>",
        meaning: "repository, created when it is new",
        required: true,
      },
      { flags: "--commit <oid>", meaning: "commit that the tests ran on", required: true },
      { flags: "--tree <oid>", meaning: "git tree of the commit: equal trees are equal code" },
      { flags: "--branch <name>", meaning: "branch that the tests ran on" },
      { flags: "--build-url <url>", meaning: "address of the CI run, shared by its shards" },
      {
        flags: "--recorded-at <timestamp>",
        meaning: "when the tests ran, RFC 3339 with a zone (default: now)",
      },
      { flags: "--tags <a,b>", meaning: "tags of every test of the run, separated by commas" },
      { flags: "--coverage <file...>", meaning: "coverage report; may be given several times" },
    ],
    input,
    async run(options, context) {
      const recordedAt = options.recordedAt ?? context.now;
      if (recordedAt > context.now + MAX_SECONDS_AHEAD) {
        throw new UsageError("--recorded-at: expected a moment at most 24 hours ahead of now");
      }
      const { sql } = await context.openDatabase();
      // Asked before the reports are read, which may take long; and again when they are stored.
      if (!await findOrganization(sql, options.org)) {
        throw new Failure(`organization "${options.org}" is unknown`);
      }
      const progress = progressLine(context.io);
      const files = await readUploadFiles(options, {
        note: (text) => {
          progress.clear();
          context.note(text);
        },
        progress: ({ results, file }) => progress.show(`${results} results read, now ${file}`),
      });
      progress.show("storing");
      const outcome = await storeUpload(
        sql,
        {
          organization: options.org,
          repository: options.repo,
          commitOid: options.commit,
          treeOid: options.tree,
          branch: options.branch || null,
          buildUrl: options.buildUrl,
          tags: options.tags,
          recordedAt,
        },
        files,
        { now: context.now },
      );
      progress.clear();
      if (outcome.duplicate) {
        const changed = files.coverage ? "only the coverage was replaced" : "nothing changed";
        context.note(`these reports were taken in before: ${changed}`);
      }
      if (outcome.key !== null || context.json) await context.print(outcome.key ?? "", outcome);
    },
  });
}
