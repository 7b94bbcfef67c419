import * as v from "valibot";
import { type Imported, importOrganization } from "../../../db/admin/import_organization.ts";
import type { Database } from "../../../db/connection/connect.ts";
import { reclaimSpace } from "../../../db/write/prune.ts";
import { errorMessage } from "../../base/error.ts";
import { Failure, UsageError } from "../../base/failure.ts";
import { jsonRecord } from "../../base/json_record.ts";
import { quote } from "../../base/quote.ts";
import { formatCount, plural } from "../../base/text.ts";
import { readExport } from "../../export/reader.ts";
import { type AddCommand, command, type CommandContext } from "../command.ts";
import { BUILD } from "../../system/build.ts";
import { progressLine } from "../output.ts";
import { argument, location, option } from "../parameters.ts";
import { lineOfText } from "../../base/value_schemas.ts";

export const importCommand: AddCommand = command({
  name: "import",
  summary: "Create an organization from an export and print its name",
  example: "import acme.ndjson",
  moreExamples: ["import --org acme-copy < acme.ndjson"],
  details: [
    "Reads a file, or standard input without one. Tests, submissions and events keep their ids, " +
    "and the tokens keep working. All or nothing: the organization appears when the " +
    "last line is stored, and after a failure nothing is left. On the embedded database all requests " +
    "wait meanwhile; on a server they do not.",
  ],
  createsDatabase: true,
  input: {
    file: argument("the export (default: standard input)", v.optional(location)),
    org: option(
      "<name>",
      "name of the organization (default: the exported name)",
      v.optional(lineOfText),
    ),
  },
  async run({ file, org: name }, context) {
    const { stop } = context.io;
    const chunks = chunksOf(await openInput(file, context), stop);
    const database = await context.openDatabase();
    const imported = await importAll(database, chunks, { name, context });
    context.note(summaryOf(imported));
    await context.print(imported.name, jsonRecord(imported));
    await reclaimSpace(database, stop);
  },
});

async function openInput(
  file: string | undefined,
  { io }: CommandContext,
): Promise<ReadableStream<Uint8Array>> {
  if (file !== undefined) {
    try {
      return (await Deno.open(file)).readable;
    } catch (error) {
      throw new Failure(`cannot read ${quote(file)}: ${errorMessage(error)}`);
    }
  }
  if (io.stdin) return io.stdin;
  if (Deno.stdin.isTerminal()) {
    throw new UsageError("standard input is a terminal: expected a file, or an export piped in");
  }
  return Deno.stdin.readable;
}

/** The chunks of a stream. @throws {Failure} when the command is interrupted */
async function* chunksOf(
  stream: ReadableStream<Uint8Array>,
  stop: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  const cancel = () => void reader.cancel();
  stop.addEventListener("abort", cancel);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (stop.aborted) throw new Failure("interrupted: nothing was imported");
      if (done) return;
      yield value;
    }
  } finally {
    stop.removeEventListener("abort", cancel);
    await reader.cancel();
  }
}

async function importAll(
  { sql }: Database,
  chunks: AsyncIterable<Uint8Array>,
  { name, context }: { name: string | undefined; context: CommandContext },
): Promise<Imported> {
  const { io, now: changedAt } = context;
  const origin = { ...context.origin(), changedAt };
  const progress = progressLine(io);
  try {
    const { imported, notes } = await importOrganization(sql, readExport(chunks, BUILD), {
      name,
      origin,
      onProgress: (count) => progress.show(`${formatCount(count)} results read`),
    });
    progress.clear();
    notes.forEach(context.note);
    return imported;
  } finally {
    progress.clear();
  }
}

function summaryOf(imported: Imported): string {
  const { repositoryCount: count, testCount, submissionCount, resultCount, tokenCount } = imported;
  const repositories = count === 1 ? "1 repository" : `${formatCount(count)} repositories`;
  return `imported ${repositories} with ${plural(testCount, "test")}, ` +
    `${plural(submissionCount, "submission")} and ${plural(resultCount, "result")}, ` +
    plural(tokenCount, "token");
}
