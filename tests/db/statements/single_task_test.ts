/** Statements about one repository run on one worker of a Citus cluster. */
import assert from "node:assert/strict";
import { after, before, it } from "@std/testing/bdd";
import type { Database } from "../../../db/connection/connect.ts";
import { silentLog } from "../../silent_log.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { createApp } from "../../../routes/mod.ts";
import { describeWithCluster, openAgain } from "../../database.ts";
import { commandLine, NOON } from "../../lib/cli/run_in_process.ts";
import { archiveOf, reportOf } from "../../lib/report/archive/make_archive.ts";
import { request } from "../../routes/fixture.ts";

const INGEST = "ingest --org acme --repo acme/shop";

/** What an operator does with one repository; FOLDER has the files, KEY and TEST are looked up. */
const COMMANDS = [
  `${INGEST} --commit c000001 --tags nightly --coverage FOLDER/lcov.info FOLDER/fails.xml`,
  `${INGEST} --commit c000001 --codeowners FOLDER/CODEOWNERS FOLDER/passes.xml`,
  `${INGEST} --commit c000001 FOLDER/passes.xml`,
  `${INGEST} --commit c000002 --tags nightly --branch main FOLDER/fails.xml`,
  `${INGEST} --commit c000002 --coverage FOLDER/lcov.info`,
  `${INGEST} --commit c000003 --recorded-at 2025-01-01T00:00:00Z FOLDER/passes.xml`,
  "watch --once --org acme FOLDER/archives",
  "quarantine add TEST --expires 30d",
  "quarantine list --org acme",
  "REQUESTS",
  "quarantine remove TEST",
  "quarantine policy set --org acme --disruptions 1 --code-versions 1 --min-results 1",
  "quarantine apply --org acme",
  "quarantine log --org acme --test TEST",
  "digest --org acme --repo acme/shop --group-by owner",
  "submission list --org acme --repo acme/shop",
  "prune --keep 90d",
  "repo rename acme/shop acme/store --org acme",
  "REQUESTS",
  "submission delete KEY --org acme --yes",
  "repo delete acme/store --org acme --yes",
];

const PATHS = [
  "/api/me/repositories",
  "/api/v1/flaky/tests?include=tags,time_consumed",
  "/api/v1/flaky/tests?branch=main",
  "/api/v1/flaky/badges?repository=NAME",
  "/api/v1/coverage/badges?repository=NAME",
  "/api/repos/acme/NAME/tests?quarantine=false",
  "/api/repos/acme/NAME/submissions?branch=m*",
  "/api/repos/acme/NAME/failures",
  "/api/repos/acme/NAME/durations?by=test",
  "/api/repos/acme/NAME/slow-tests",
  "/api/repos/acme/NAME/states",
  "/api/repos/acme/NAME/groups",
  "/repos/acme/NAME/slow-tests",
  "/api/repos/acme/NAME/verdicts?tests=TEST&base=m*",
  "/api/repos/acme/NAME/submissions/SUBMISSION/tests",
  "/api/tests/TEST",
  "/api/tests/TEST/runs",
  "/api/tests/TEST/failures",
  "/api/tests/TEST/results",
  "/repos/acme/NAME",
  "/repos",
  "/repos/acme/NAME/builds/SUBMISSION",
  "/flaky-tests?repository=NAME",
  "/tests/TEST",
];

describeWithCluster("a statement about one repository", (database) => {
  let strict: Database;
  let folder: string;

  before(async () => {
    const { sql } = database();
    folder = await Deno.makeTempDir({ prefix: "test-analytics-single-task-" });
    const [current] = await sql<{ name: string }[]>`select current_database() as name`;
    await sql`
      alter database ${sql(current!.name)} set citus.multi_task_query_log_level = 'error'`;
    strict = await openAgain(database());
  });
  after(async () => {
    await strict.close();
    await Deno.remove(folder, { recursive: true });
  });

  it("is one task of one worker, whatever it reads or changes", async () => {
    const { sql } = strict;
    await assert.rejects(sql`select count(*) from test`, /multi-task query about to be executed/);
    const cli = commandLine(() => strict, { now: () => NOON });
    const run = async (line: string) => {
      const { code, stdout, stderr } = await cli(line.replaceAll("FOLDER", folder));
      assert.equal(code, 0, `${line}\n${stderr}`);
      return stdout.trim();
    };
    const write = (name: string, text: string) => Deno.writeTextFile(`${folder}/${name}`, text);
    await Deno.mkdir(`${folder}/archives`);
    const metadata = `:commit: ${"0".repeat(40)}\n:repo_name_with_owner: acme/shop\n`;
    const archive = [["buildpulse.yml", metadata], ["test_results/a.xml", reportOf("a")]] as const;
    await Deno.writeFile(`${folder}/archives/a.gz`, await archiveOf([...archive]));
    await Deno.utime(`${folder}/archives/a.gz`, NOON - 3_600, NOON - 3_600);
    const passes = reportOf("flaky", "web/flaky.ts");
    await write("passes.xml", passes);
    await write("fails.xml", passes.replace("/>", `><failure message="no"/></testcase>`));
    await write("lcov.info", "SF:a\nDA:1,1\nDA:2,0\nend_of_record\n");
    await write("CODEOWNERS", "/web/ @acme/web\n");
    await run("org create acme");
    await run("repo create acme/shop --org acme");
    const token = await run("token create --org acme");
    const app = createApp({ sql, now: () => NOON, windowSeconds: WINDOW_SECONDS, log: silentLog });
    const ask = async (path: string) => {
      const response = await app(request(path, { authorization: `Bearer ${token}` }));
      const text = await response.text();
      assert.equal(response.status, 200, `${path}\n${text}`);
      return text;
    };
    for (const line of COMMANDS) {
      const { repositories: [{ name }] } = JSON.parse(await ask("/api/me/repositories"));
      const { tests: [test] } = JSON.parse(await ask(`/api/repos/acme/${name}/tests`));
      const list = JSON.parse(await ask(`/api/repos/acme/${name}/submissions`));
      const { id = "", key = "" } = list.submissions[0] ?? {};
      const fill = (text: string) =>
        text.replace("NAME", name).replace("TEST", test?.id).replace("SUBMISSION", id)
          .replace("KEY", key);
      if (line === "REQUESTS") { for (const path of PATHS) await ask(fill(path)); }
      else await run(fill(line));
    }
  });
});
