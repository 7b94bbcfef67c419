/** A queue of archives, and watchers that empty it together. */
import { openDatabase } from "../../db/connect.ts";
import { migrate } from "../../db/migrate.ts";
import { createOrganization } from "../../db/organizations.ts";
import { archiveOf } from "../lib/report/archive/make_archive.ts";

const ARCHIVES = 60;
const TESTS = 10_000;
const REPOSITORIES = 6;
const MAIN = new URL("../../main.ts", import.meta.url).pathname;

/** Archives in a folder. */
export interface ArchiveQueue {
  folder: string;
  resultCount: number;
  remove(): Promise<void>;
}

/** Makes a folder of archives of ten thousand results each, of six repositories. */
export async function makeQueue(): Promise<ArchiveQueue> {
  const folder = await Deno.makeTempDir();
  const long = new Date(Date.now() - 3_600_000);
  for (let no = 0; no < ARCHIVES; no++) {
    const cases = Array.from(
      { length: TESTS },
      (_, test) =>
        `<testcase classname="com.example.Suite${
          test % 40
        }" name="handles case ${test} of the order"` +
        ` time="0.0${(test * 7 + no * 13) % 90 + 10}"/>`,
    );
    const path = `${folder}/${no}.gz`;
    await Deno.writeFile(
      path,
      await archiveOf([
        [
          "buildpulse.yml",
          `:commit: ${no.toString(16).padStart(40, "0")}\n` +
          `:repo_name_with_owner: acme/service-${no % REPOSITORIES}\n` +
          `:build_url: https://ci.example.com/${no}\n`,
        ],
        ["test_results/a.xml", `<testsuite name="unit">${cases.join("")}</testsuite>`],
      ]),
    );
    await Deno.utime(path, long, long);
  }
  return {
    folder,
    resultCount: ARCHIVES * TESTS,
    remove: () => Deno.remove(folder, { recursive: true }),
  };
}

/** Lets some watchers take in the queue, into an empty database; returns how many seconds it took. */
export async function emptyQueue(
  queue: ArchiveQueue,
  { databaseUrl, workers }: { databaseUrl: string; workers: number },
): Promise<number> {
  const database = await openDatabase({ databaseUrl, dataDir: "" });
  await migrate(database.sql);
  await createOrganization(database.sql, { name: "acme", purchaseUnitCount: 0, createdAt: 0 });
  const started = performance.now();
  const endings = await Promise.all(
    Array.from({ length: workers }, () =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", MAIN, "watch", queue.folder, "--once"],
        env: { DATABASE_URL: databaseUrl },
        stdout: "null",
        stderr: "piped",
      }).output()),
  );
  const seconds = (performance.now() - started) / 1000;
  for (const { success, stderr } of endings) {
    if (!success) throw new Error(`watch: ${new TextDecoder().decode(stderr)}`);
  }
  const [stored] = await database.sql<{ results: number }[]>`
    select sum(test_result_count)::float8 as results from submission`;
  await database.close();
  if (stored?.results !== queue.resultCount) throw new Error(`stored ${stored?.results} results`);
  return seconds;
}
