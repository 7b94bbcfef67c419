/**
 * Replays a year of Apache Ozone's CI through the program, and counts how often its conclusions were right:
 *
 *     deno task measure ozone FOLDER [--quick] [--database URL]
 *     deno task measure ozone FOLDER --histories
 *
 * FOLDER has `history.ndjson.gz` and `truth.tsv`. `--quick` replays the first quarter. `--histories` prints what
 * the histories of the tests say, without a database: in a minute instead of 15.
 */
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { createRepository } from "../../../db/admin/repositories.ts";
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { storeSubmission } from "../../../db/write/store_submission.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import type { Evidence } from "../../../lib/evidence/evidence.ts";
import {
  type Blame,
  blameOf,
  BLAMES,
  brierScores,
  compareCounts,
  type Prediction,
  type ShareSource,
} from "../../../lib/evidence/shares.ts";
import type { Truth } from "../../../lib/evidence/truth.ts";
import { BRANCH, ENVIRONMENT, isSame, pageOf, verdictsOn } from "./agreement.ts";
import { printHistories } from "./histories.ts";
import { readUploads } from "./uploads.ts";

const { values, positionals } = parseArgs({
  args: process.argv.slice(2),
  allowPositionals: true,
  options: {
    quick: { type: "boolean" },
    database: { type: "string" },
    histories: { type: "boolean" },
  },
});
const [folder] = positionals;
if (!folder) {
  process.stderr.write("missing FOLDER\nTry: deno task measure ozone ../ozone --quick\n");
  process.exit(2);
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

if (values.histories) {
  await printHistories(folder, print);
  process.exit(0);
}

const QUARTER_SECONDS = 91 * 24 * 3600;

const dataDir = join(tmpdir(), `ozone-${process.pid}`);
const database = await openDatabase({ databaseUrl: values.database, dataDir });
try {
  await migrate(database.sql);
  await replay();
} finally {
  await database.close();
  await rm(dataDir, { recursive: true, force: true });
}

async function replay(): Promise<void> {
  const { sql } = database;
  const createdAt = 0;
  const name = `apache-${process.pid}`;
  const organization = await createOrganization(sql, { name, purchaseUnitCount: 0, createdAt });
  const { repositoryId } = await createRepository(sql, {
    organization: organization!,
    owner: "apache",
    name: "ozone",
    createdAt,
  });
  let count = 0;
  let withFailures = 0;
  let start = 0;
  /** Milliseconds of uploads without and with failures. */
  const took: [number[], number[]] = [[], []];
  let agreed = 0;
  const idPrefix = await idPrefixOf(repositoryId);
  for await (const upload of readUploads(folder!)) {
    const { results, commit, tree, job, url, attempt, recordedAt } = upload;
    start ||= recordedAt;
    if (values.quick && recordedAt > start + QUARTER_SECONDS) break;
    const builder = new SubmissionBuilder();
    for (const result of results) builder.add(result);
    const content = builder.finish();
    const hasFailed = content.negatives.length > 0;
    const place = { repositoryId, idPrefix };
    const gate = hasFailed ? await verdictsOn(sql, place, upload) : null;
    const startedAt = performance.now();
    const { submissionId } = await writeTransaction(sql, (tx) =>
      storeSubmission(tx, {
        repositoryId,
        commitOid: commit,
        treeOid: tree,
        branch: BRANCH,
        environment: ENVIRONMENT,
        job,
        attempt: String(attempt),
        buildUrl: url,
        tags: [],
        recordedAt,
        uploadedAt: recordedAt,
        reportDigest: String(count).padStart(64, "0"),
        content,
        coverage: null,
      }));
    took[hasFailed ? 1 : 0].push(performance.now() - startedAt);
    if (gate) {
      withFailures++;
      const comment = await verdictsOn(sql, place, upload);
      const page = await pageOf(sql, { repositoryId, submissionId, now: recordedAt });
      if (isSame([gate, comment, page])) agreed++;
      else process.stderr.write(`page, comment and gate differ: ${url}\n`);
    }
    if (++count % 500 === 0) process.stderr.write(`${count} uploads\n`);
  }
  const median = (times: number[]) => times.sort((a, b) => a - b)[times.length >> 1]?.toFixed(1);
  print(
    `${count} uploads, ${withFailures} with failures; median ${median(took[0])} ms without ` +
      `failures, ${median(took[1])} ms with some. Page, comment and gate agree in ${agreed}.\n`,
  );
  await printTable(repositoryId);
}

async function idPrefixOf(repositoryId: number): Promise<number> {
  const [row] = await database.sql<{ idPrefix: number }[]>`
    select id_prefix::float8 as "idPrefix" from repository where repository_id = ${repositoryId}`;
  return row!.idPrefix;
}

interface Row {
  evidence: Evidence;
  isOnBase: boolean;
  notTheChange: number | null;
  of: number;
  from: ShareSource;
  truth: Truth | null;
}

async function printTable(repositoryId: number): Promise<void> {
  const rows = await database.sql<Row[]>`
    select evidence, is_on_base as "isOnBase", share_not_the_change as "notTheChange", share_of as "of",
      share_from as "from", truth
    from failure_evidence
    where repository_id = ${repositoryId} and not is_repeat
    order by submission_id, test_no`;
  const failures = rows.map(({ notTheChange, of, from, ...row }) => {
    const share = notTheChange === null ? null : { notTheChange, of, from };
    return { ...row, share, blame: blameOf(row.evidence, share) };
  });
  print(
    "| evidence | failures | not the change | the change | open | not yours | unclear | yours |",
  );
  print(
    "| -------- | -------: | -------------: | ---------: | ---: | --------: | ------: | ----: |",
  );
  const groups = [...Map.groupBy(failures, ({ evidence }) => evidence).values()]
    .sort(([a], [b]) => compareCounts(a!, b!));
  const resolved = failures.filter((one): one is typeof one & Prediction => one.truth !== null);
  const countOf = (list: typeof failures, truth: Truth | null) =>
    list.filter((one) => one.truth === truth).length;
  const blamed = (list: { blame: Blame }[], blame: Blame) =>
    list.filter((one) => one.blame === blame).length;
  for (const group of groups) {
    const known = group.filter(({ truth }) => truth !== null);
    const cells = [
      `\`${group[0]!.evidence}\``,
      group.length,
      countOf(group, "not_the_change"),
      countOf(group, "the_change"),
      countOf(group, null),
      ...BLAMES.map((blame) => blamed(known, blame)),
    ];
    print(`| ${cells.join(" | ")} |`);
  }
  const flakes = resolved.filter(({ truth }) => truth === "not_the_change");
  const red = resolved.filter(({ truth }) => truth === "the_change");
  const { brier, baseRate } = brierScores(resolved);
  print(`
| of the failures whose truth came out | |
| --- | --- |
| flakes called yours | ${blamed(flakes, "yours")} of ${flakes.length} |
| flakes called unclear | ${blamed(flakes, "unclear")} of ${flakes.length} |
| failures that stayed red called not yours | ${blamed(red, "not_yours")} of ${red.length} |
| Brier score | ${brier?.toFixed(4)} |
| Brier score of the base rate | ${baseRate?.toFixed(4)} |`);
}
