import { exportOrganization } from "../../../db/admin/export_organization.ts";
import { ExportWriter } from "../../export/writer.ts";
import { formatCount, plural } from "../../base/text.ts";
import { type AddCommand, command } from "../command.ts";
import { Failure } from "../../base/failure.ts";
import { BUILD } from "../../system/build.ts";
import { progressLine } from "../output.ts";
import { openOrganization, ORG } from "../organization.ts";

/** Text that is written at once. */
const CHUNK_CHARACTERS = 64 << 10;

export const exportCommand: AddCommand = command({
  name: "export",
  summary: "Write an organization to standard output as JSON lines, for `import` or other tools",
  example: "export --org acme",
  moreExamples: ["export --org acme > acme.ndjson", "export --org acme | gzip > acme.ndjson.gz"],
  details: [
    "Contains everything but plain tokens: results, failures, coverage, quarantine with its log, " +
    "policies, hashes of tokens. The service keeps running meanwhile. The format stays readable by " +
    "later versions: docs/reference/export.md.",
  ],
  input: { org: ORG },
  async run({ org }, context) {
    const { io, note } = context;
    const { sql, organization } = await openOrganization(context, org);
    /** Unlike the output of other commands, a part of this one is of no use. */
    const write = async (text: string) => {
      await io.stdout(text);
      if (!io.isStdoutClosed?.()) return;
      throw new Failure("standard output was closed: the export is incomplete, do not import it");
    };
    const writer = new ExportWriter();
    const progress = progressLine(io);
    let text = writer.header(context.now, BUILD);
    let resultCount = 0;
    for await (const records of exportOrganization(sql, organization.organizationId)) {
      text += writer.records(records);
      resultCount += records.filter(({ type }) => type === "result").length;
      if (text.length < CHUNK_CHARACTERS) continue;
      await write(text);
      text = "";
      progress.show(`${formatCount(resultCount)} results written`);
    }
    await write(text + writer.end());
    progress.clear();
    note(`exported ${organization.name}: ${plural(resultCount, "result")}`);
  },
});
