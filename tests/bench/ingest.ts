/** How fast reports are read and stored, against COPY of the same results as rows. */
import { dirname } from "node:path";
import postgres from "postgres";
import { openDatabase } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import { createOrganization } from "../../db/organizations.ts";
import { builds, type HistoryShape } from "./generate.ts";
import { median } from "./slices.ts";

/** Speed of the road from a report to what is visible. */
export interface IngestFigures {
  /** Of reports whose tests are all known. */
  results_per_second: number;
  copy_results_per_second: number;
  ratio: number;
  /** The same where all tests are new. */
  new_tests_ratio: number;
  parse_mb_per_second: number;
  /** Of the program while it takes in a 1 GB report of 500,000 cases. */
  peak_rss_mb: number;
}

const RESULTS = 100_000;
const ROUNDS = 5;
const BIG_CASES = 500_000;
const BIG_OUTPUT = "captured output of the program under test, line after line\n".repeat(33);

/** Measures `ingest` as a user runs it: the whole process, from start to exit. */
export async function measureIngest(
  databaseUrl: string,
  { quick, report }: { quick: boolean; report: (line: string) => void },
): Promise<IngestFigures> {
  const folder = await Deno.makeTempDir();
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const database = await openDatabase({ databaseUrl, dataDir: "" });
    await migrate(database.sql);
    await createOrganization(database.sql, { name: "acme", purchaseUnitCount: 0, createdAt: 0 });
    await database.close();
    const reports = await writeReports(folder);
    const bytes = (await Deno.stat(reports[0]!.xml)).size;
    const idle = await ingest(databaseUrl, "acme/warm", reports[0]!.xml);
    report(`first upload of ${RESULTS} results: ${idle.seconds.toFixed(2)} s`);

    await sql`create table bench_row (suite text, name text, conclusion text, duration float8)`;
    await sql`create index on bench_row (name)`;
    const known: number[] = [];
    const added: number[] = [];
    const copied: number[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const { xml, rows } = reports[round % reports.length]!;
      known.push((await ingest(databaseUrl, "acme/warm", xml)).seconds);
      copied.push(await copy(databaseUrl, rows));
      added.push((await ingest(databaseUrl, `acme/new-${round}`, xml)).seconds);
    }
    await sql`drop table bench_row`;
    const ratio = median(known.map((seconds, round) => copied[round]! / seconds));
    const newRatio = median(added.map((seconds, round) => copied[round]! / seconds));

    const big = `${folder}/big.xml`;
    const cases = quick ? BIG_CASES / 10 : BIG_CASES;
    const megabytes = await writeBigReport(big, cases);
    const taken = await ingest(databaseUrl, "acme/big", big);
    report(`${megabytes.toFixed(0)} MB report of ${cases} cases: ${taken.seconds.toFixed(1)} s`);
    return {
      results_per_second: RESULTS / median(known),
      copy_results_per_second: RESULTS / median(copied),
      ratio,
      new_tests_ratio: newRatio,
      parse_mb_per_second: Math.max(megabytes / taken.seconds, bytes / 1e6 / median(known)),
      peak_rss_mb: taken.peakRssMb,
    };
  } finally {
    await sql.end();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs the command under GNU time, which tells the greatest memory. */
async function ingest(databaseUrl: string, repository: string, report: string) {
  const main = new URL("../../main.ts", import.meta.url).pathname;
  const started = performance.now();
  const { success, stderr } = await new Deno.Command("/usr/bin/time", {
    args: [
      "-f",
      "%M",
      Deno.execPath(),
      "run",
      "-A",
      main,
      "ingest",
      "--org",
      "acme",
      "--repo",
      repository,
      "--commit",
      crypto.randomUUID(),
      report,
    ],
    env: { DATABASE_URL: databaseUrl },
    stdout: "null",
  }).output();
  const said = new TextDecoder().decode(stderr).trim();
  if (!success) throw new Error(`ingest: ${said}`);
  return {
    seconds: (performance.now() - started) / 1000,
    peakRssMb: Number(said.split("\n").at(-1)) / 1024,
  };
}

/** `psql`'s COPY of the same results as rows into a table with one index. */
async function copy(databaseUrl: string, rows: string): Promise<number> {
  const started = performance.now();
  const { success, stderr } = await new Deno.Command("psql", {
    args: [databaseUrl, "-q", "-c", `\\copy bench_row from '${rows}'`],
  }).output();
  if (!success) throw new Error(`psql: ${new TextDecoder().decode(stderr)}`);
  return (performance.now() - started) / 1000;
}

/** The same results as JUnit and as rows for COPY. */
async function writeReports(folder: string): Promise<{ xml: string; rows: string }[]> {
  const shape: HistoryShape = {
    seed: 7,
    testCount: RESULTS,
    buildCount: 2,
    testsPerBuild: RESULTS,
    disruptiveTestCount: 1_000,
    disruptionCount: 200,
    until: 1_790_000_000,
    days: 1,
  };
  const written: { xml: string; rows: string }[] = [];
  for (const build of builds(shape)) {
    const xml: string[] = ["<testsuites>"];
    const rows: string[] = [];
    let suite = "";
    for (const result of build.results) {
      if (result.suite !== suite) {
        if (suite) xml.push("</testsuite>");
        suite = result.suite;
        xml.push(`<testsuite name="${suite}">`);
      }
      const seconds = (result.durationMicroseconds / 1e6).toFixed(3);
      const head = `<testcase classname="${result.class}" name="${result.name}" ` +
        `file="${result.file}" time="${seconds}"`;
      const message = result.message.replaceAll("&", "&amp;").replaceAll('"', "&quot;");
      xml.push(
        result.conclusion === "passing"
          ? `${head}/>`
          : result.conclusion === "skipped"
          ? `${head}><skipped/></testcase>`
          : `${head}><${result.conclusion} message="${message}"/></testcase>`,
      );
      rows.push(`${result.suite}\t${result.name}\t${result.conclusion}\t${seconds}`);
    }
    xml.push("</testsuite></testsuites>");
    const paths = {
      xml: `${folder}/report-${build.number}.xml`,
      rows: `${folder}/rows-${build.number}.tsv`,
    };
    await Deno.writeTextFile(paths.xml, xml.join("\n"));
    await Deno.writeTextFile(paths.rows, rows.join("\n") + "\n");
    written.push(paths);
  }
  return written;
}

/** A report in which captured output is nearly everything. */
async function writeBigReport(path: string, cases: number): Promise<number> {
  await Deno.mkdir(dirname(path), { recursive: true });
  using file = await Deno.open(path, { create: true, write: true });
  const encoder = new TextEncoder();
  const writer = file.writable.getWriter();
  await writer.write(encoder.encode('<testsuites><testsuite name="big">\n'));
  for (let start = 0; start < cases; start += 1_000) {
    let text = "";
    for (let number = start; number < start + 1_000; number++) {
      text +=
        `<testcase classname="Big" name="case number ${number}" time="0.0${number % 90 + 10}">` +
        `<system-out>${BIG_OUTPUT}</system-out></testcase>\n`;
    }
    await writer.write(encoder.encode(text));
  }
  await writer.write(encoder.encode("</testsuite></testsuites>\n"));
  await writer.close();
  return (await Deno.stat(path)).size / 1e6;
}
