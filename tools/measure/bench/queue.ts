/** A queue of archives, and watchers that empty it together. */
import { openDatabase } from "../../../db/connection/connect.ts";
import { migrate } from "../../../db/schema/migrate.ts";
import { createOrganization } from "../../../db/admin/organizations.ts";
import { endedConnectionsCpuSeconds } from "./cpu.ts";
import { archiveOf } from "../../../tests/lib/report/archive/make_archive.ts";

const ARCHIVES = 60;
const TESTS = 5_000;
const REPOSITORIES = 6;
const MAIN = new URL("../../../main.ts", import.meta.url).pathname;

/** Archives in a folder. */
interface ArchiveQueue {
  folder: string;
  resultCount: number;
  remove(): Promise<void>;
}

/** Makes a folder of archives of five thousand results each, of six repositories. */
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

/** How long it took to empty a queue, and what it cost the watchers and the database. */
interface Emptied {
  seconds: number;
  cpuSeconds: number;
  databaseCpuSeconds: number;
}

/** Lets some watchers take in the queue, into an empty database. */
export async function emptyQueue(
  queue: ArchiveQueue,
  { databaseUrl, workers }: { databaseUrl: string; workers: number },
): Promise<Emptied> {
  const database = await openDatabase({ databaseUrl, dataDir: "" });
  await migrate(database.sql);
  await createOrganization(database.sql, { name: "acme", purchaseUnitCount: 0, createdAt: 0 });
  const databaseBefore = await endedConnectionsCpuSeconds(databaseUrl);
  const started = performance.now();
  const endings = await Promise.all(
    Array.from({ length: workers }, () =>
      new Deno.Command("/usr/bin/time", {
        args: ["-f", "%U %S", Deno.execPath(), "run", "-A", MAIN, "watch", queue.folder, "--once"],
        env: { DATABASE_URL: databaseUrl },
        stdout: "null",
        stderr: "piped",
      }).output()),
  );
  const seconds = (performance.now() - started) / 1000;
  let cpuSeconds = 0;
  for (const { success, stderr } of endings) {
    const said = new TextDecoder().decode(stderr).trim();
    if (!success) throw new Error(`watch: ${said}`);
    for (const part of said.split("\n").at(-1)!.split(" ")) cpuSeconds += Number(part);
  }
  const databaseCpuSeconds = await endedConnectionsCpuSeconds(databaseUrl) - databaseBefore;
  const [stored] = await database.sql<{ results: number }[]>`
    select sum(test_result_count)::float8 as results from submission`;
  await database.close();
  if (stored?.results !== queue.resultCount) throw new Error(`stored ${stored?.results} results`);
  return { seconds, cpuSeconds, databaseCpuSeconds };
}
