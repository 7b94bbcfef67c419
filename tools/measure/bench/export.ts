/** How long an organization takes from one database to another, and how much memory and space. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { runProgram } from "./processes.ts";
import type { Scenario } from "./scenario.ts";

/** The commands as whole processes, from start to exit. */
export interface ExportFigures {
  results: number;
  tests: number;
  submissions: number;
  export_seconds: number;
  export_peak_rss_mb: number;
  file_mb: number;
  /** As `gzip` makes it, with its default level. */
  compressed_mb: number;
  import_into_server_seconds: number;
  import_into_server_peak_rss_mb: number;
  /** The embedded database runs in the process that imports. */
  import_into_embedded_seconds: number;
  import_into_embedded_peak_rss_mb: number;
  embedded_export_seconds: number;
  embedded_export_peak_rss_mb: number;
}

/** Exports an organization from a server, imports it into another database and an embedded one. */
export async function measureExport(
  { databaseUrl, organization: { name } }: Scenario,
  emptyUrl: string,
): Promise<ExportFigures> {
  const folder = await Deno.makeTempDir();
  try {
    const empty = await openDatabase({ databaseUrl: emptyUrl, dataDir: "" });
    await migrate(empty.sql);
    await empty.close();
    const file = `${folder}/bench.ndjson`;
    const argv = ["export", "--org", name];
    const exported = await runProgram(argv, { DATABASE_URL: databaseUrl }, file);
    const zipped = await new Deno.Command("gzip", { args: ["--keep", file] }).output();
    if (!zipped.success) throw new Error("gzip failed");
    const imported = await runProgram(["import", file], { DATABASE_URL: emptyUrl });
    const embedded = { DATA_DIR: `${folder}/data`, DATABASE_URL: "" };
    const importedEmbedded = await runProgram(["import", file], embedded);
    const again = await runProgram(argv, embedded, `${folder}/again.ndjson`);
    const megabytes = async (path: string) => (await Deno.stat(path)).size / 1e6;
    const counts = await countLines(file);
    return {
      results: counts.get("result") ?? 0,
      tests: counts.get("test") ?? 0,
      submissions: counts.get("submission") ?? 0,
      export_seconds: exported.seconds,
      export_peak_rss_mb: exported.peakRssMb,
      file_mb: await megabytes(file),
      compressed_mb: await megabytes(`${file}.gz`),
      import_into_server_seconds: imported.seconds,
      import_into_server_peak_rss_mb: imported.peakRssMb,
      import_into_embedded_seconds: importedEmbedded.seconds,
      import_into_embedded_peak_rss_mb: importedEmbedded.peakRssMb,
      embedded_export_seconds: again.seconds,
      embedded_export_peak_rss_mb: again.peakRssMb,
    };
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** How many lines of each type a file has. */
async function countLines(file: string): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  let rest = "";
  for await (const text of (await Deno.open(file)).readable.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + text).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      const type = /^\{"type":"(\w+)"/.exec(line)?.[1] ?? "";
      counts.set(type, (counts.get(type) ?? 0) + 1);
    }
  }
  return counts;
}
