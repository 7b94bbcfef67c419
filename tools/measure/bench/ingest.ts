/** How fast reports become visible, against psql's COPY of the same results as rows. */
import postgres from "postgres";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { type Attempt, builds, identities } from "./generate.ts";
import { writeBigReport, writeReport } from "./junit_file.ts";
import { runProgram } from "./processes.ts";
import { createRowTable, rowLine } from "./rows.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

/** Speed of the road from a report to what is visible. */
export interface IngestFigures {
  /** From the start of `ingest` to its end, of reports whose tests are all known. */
  results_per_second: number;
  /** `psql`'s COPY into a table with one index, in which tests are numbers already. */
  copy_results_per_second: number;
  ratio: number;
  /** The same where all tests are new. */
  new_tests_ratio: number;
  /** COPY into a table with the names of the tests, and an index over them; to compare with. */
  copy_names_results_per_second: number;
  /** Of the first report of 100,000 results, in the process that reads it. */
  parse_mb_per_second: number;
  /** Of the program while it takes in the report of captured output. */
  peak_rss_mb: number;
  big_report_mb: number;
  big_report_seconds: number;
}

const RESULTS = 100_000;
const ROUNDS = 7;
const BIG_CASES = 500_000;
// Where there is little time: what memory takes does not depend on it.
const QUICK_BIG_CASES = 100_000;

/** Measures `ingest` as a user runs it: the whole process, from start to exit. */
export async function measureIngest(
  databaseUrl: string,
  { quick, parseMbPerSecond, report }: {
    quick: boolean;
    parseMbPerSecond: number;
    report: (line: string) => void;
  },
): Promise<IngestFigures> {
  const folder = await Deno.makeTempDir();
  const sql = postgres(databaseUrl, { max: 1, onnotice: () => {} });
  try {
    const database = await openDatabase({ databaseUrl, dataDir: "" });
    await migrate(database.sql);
    await createOrganization(database.sql, { name: "acme", purchaseUnitCount: 0, createdAt: 0 });
    await database.close();
    await createRowTable(sql);
    await sql`
      create table bench_named_row (suite text, class text, name text, file text, conclusion text,
        duration float8)`;
    await sql`create index on bench_named_row (name)`;
    const uploads = await writeUploads(folder);
    const upload = () => uploads.files[round % uploads.files.length]!;
    report(`reports of ${uploads.resultCount} results`);
    // A database that has been in use has statistics, in which a new repository does not occur: what
    // the planner makes of that belongs to the figures.
    await ingest(databaseUrl, "acme/known", uploads.files[0]!.xml);
    await sql`analyze`;
    let round = 0;
    const turns = await takeTurns({
      known: async () => (await ingest(databaseUrl, "acme/known", upload().xml)).seconds,
      copied: () => copy(databaseUrl, "bench_row", upload().rows),
      added: async () => (await ingest(databaseUrl, `acme/new-${round}`, upload().xml)).seconds,
      named: async () => {
        const seconds = await copy(databaseUrl, "bench_named_row", upload().named);
        round++;
        return seconds;
      },
    }, ROUNDS);

    const cases = quick ? QUICK_BIG_CASES : BIG_CASES;
    const megabytes = await writeBigReport(`${folder}/big.xml`, cases);
    const big = await ingest(databaseUrl, "acme/big", `${folder}/big.xml`);
    report(`${megabytes.toFixed(0)} MB report of ${cases} cases: ${big.seconds.toFixed(1)} s`);
    const perSecond = (seconds: number[]) => uploads.resultCount / median(seconds);
    return {
      results_per_second: perSecond(turns.known),
      copy_results_per_second: perSecond(turns.copied),
      ratio: medianRatio(turns.copied, turns.known, (seconds) => seconds),
      new_tests_ratio: medianRatio(turns.copied, turns.added, (seconds) => seconds),
      copy_names_results_per_second: perSecond(turns.named),
      parse_mb_per_second: parseMbPerSecond,
      peak_rss_mb: big.peakRssMb,
      big_report_mb: megabytes,
      big_report_seconds: big.seconds,
    };
  } finally {
    await sql.end();
    await Deno.remove(folder, { recursive: true });
  }
}

/** Runs the command. */
export async function ingest(databaseUrl: string, repository: string, report: string) {
  const commit = crypto.randomUUID().replaceAll("-", "");
  const options = ["--org", "acme", "--repo", repository, "--commit", `${commit}00000000`];
  return await runProgram(["ingest", ...options, report], { DATABASE_URL: databaseUrl });
}

/** Seconds of `psql`'s COPY of a file. */
async function copy(databaseUrl: string, table: string, file: string): Promise<number> {
  const started = performance.now();
  const { success, stderr } = await new Deno.Command("psql", {
    args: ["--no-psqlrc", "--quiet", databaseUrl, "-c", `\\copy ${table} from '${file}'`],
  }).output();
  if (!success) throw new Error(`psql: ${new TextDecoder().decode(stderr)}`);
  return (performance.now() - started) / 1000;
}

/** Two builds of the same tests, as JUnit and as rows for COPY. */
async function writeUploads(folder: string) {
  const tests = identities(RESULTS);
  const now = Math.floor(Date.now() / 1000);
  const files: { xml: string; rows: string; named: string }[] = [];
  let resultCount = 0;
  const shape = {
    seed: 7,
    testCount: RESULTS,
    buildCount: 2,
    shardCount: 1,
    disruptiveTestCount: 1_000,
    disruptionCount: 200,
    from: now - 3600,
    until: now,
  };
  for (const build of builds(shape)) {
    const rows: string[] = [];
    const named: string[] = [];
    const path = `${folder}/${build.number}`;
    const onAttempt = (attempt: Attempt) => {
      rows.push(rowLine(build, attempt));
      named.push(namedLine(attempt));
    };
    await writeReport(`${path}.xml`, { build, tests, onAttempt });
    await Deno.writeTextFile(`${path}.rows`, rows.join(""));
    await Deno.writeTextFile(`${path}.named`, named.join(""));
    files.push({ xml: `${path}.xml`, rows: `${path}.rows`, named: `${path}.named` });
    resultCount = rows.length;
  }
  return { files, resultCount };

  function namedLine({ test, conclusion, durationMicroseconds }: Attempt): string {
    const { suite, class: className, name, file } = tests[test]!;
    return [suite, className, name, file, conclusion, durationMicroseconds / 1e6].join("\t") + "\n";
  }
}
