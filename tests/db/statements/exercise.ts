/** Everything that the program does with a database, once. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";
import type { Database } from "../../../db/connection/connect.ts";
import {
  assignArchive,
  claimArchive,
  extendClaim,
  findArchives,
  findFailedArchives,
  findSetAside,
  finishArchive,
  recordVersions,
  releaseArchive,
} from "../../../db/admin/archives.ts";
import {
  canReadSchemaVersion,
  isWriterRefused,
  loadFreshness,
  loadLatestNotes,
  loadRepositoriesWithoutBranch,
  loadServerState,
  loadUnusedBases,
} from "../../../db/admin/diagnostics.ts";
import { judgeAgain } from "../../../db/admin/judge_again.ts";
import { loadIsFailedWithoutTest } from "../../../db/read/evidence_run.ts";
import { loadExpectedPlaces } from "../../../db/read/job_runs.ts";
import { loadBuild } from "../../../db/read/submissions.ts";
import { loadWholeness } from "../../../db/read/wholeness.ts";
import {
  addQuarantineByToken,
  lockTest,
  removeQuarantineByToken,
} from "../../../db/admin/quarantine_by_token.ts";
import {
  countExpiringTokens,
  listOwnTokens,
  recordTokenUses,
  revokeToken,
  storeOwnToken,
} from "../../../db/admin/tokens.ts";
import { writeTransaction } from "../../../db/write/transaction.ts";
import { loadTarget } from "../../../db/admin/webhook_deliveries.ts";
import { sendWebhooks } from "../../../lib/webhook_sender/send_webhooks.ts";
import { silentLog } from "../../silent_log.ts";
import { loadUploader, validUploadTokenHashes } from "../../../db/read/caller.ts";
import { loadTrusts, trustedIssuers } from "../../../db/read/trusts.ts";
import { findRepository } from "../../../db/admin/repositories.ts";
import { parseTestId, testId } from "../../../lib/base/identity.ts";
import { hashToken, makeToken } from "../../../lib/base/token.ts";
import { commandLine, NOON } from "../../lib/cli/run_in_process.ts";
import { archiveOf, reportOf } from "../../lib/report/archive/make_archive.ts";
import { createContractFixture } from "../../routes/contract_fixture.ts";
import { DAY, type Fixture, flaky, request } from "../../routes/fixture.ts";

/** Asks every route, in every way that leads to other statements. */
export async function exerciseRoutes(database: Database): Promise<void> {
  const { fixture, testId, quietTestId, submissionId, repositoryNumber } =
    await createContractFixture(database);
  const legacy = await fixture.addToken({ legacy: true });
  assert.equal((await fixture.get("/api", { authorization: `token ${legacy}` })).status, 401);
  for (let index = 0; index < 21; index++) {
    const { plain } = makeToken("api_token");
    const wrong = request("/api", { authorization: `token ${plain}` });
    assert.equal((await fixture.app(wrong, "192.0.2.1")).status, 401);
  }
  const askAll = async () => {
    for (
      const [path, status] of requests({
        testId,
        quietTestId,
        submissionId,
        repositoryNumber,
      })
    ) {
      const response = await fixture.get(path);
      assert.equal(response.status, status, path);
      await response.body?.cancel();
      const etag = response.headers.get("etag");
      if (etag === null) continue;
      assert.equal((await fixture.get(path, { "if-none-match": etag })).status, 304, path);
    }
  };
  await askAll();
  // What is kept in memory is brought up to date: by an upload, and by what falls out of the window.
  const shop = await findRepository(database.sql, { ...fixture.organization, ...SHOP_NAME });
  await fixture.upload(shop!, [...flaky("another"), { name: "quiet" }], {
    tags: ["late"],
    defaultBranch: "main",
  });
  await askAll();
  fixture.clock.now += 14 * DAY - 3 * 3_600;
  await askAll();
  // A test that may be broken.
  for (const no of [1, 2, 3]) {
    const results = [{ name: "broken", conclusion: "failure" as const }];
    const buildUrl = `https://ci.example.com/broken/${no}`;
    await fixture.upload(shop!, results, { branch: "main", buildUrl, commitOid: `b0000${no}0` });
  }
  assert.equal((await fixture.get("/repos")).status, 200);
  // A base branch with several environments.
  const windows = { branch: "main", environment: "windows", commitOid: "b000040" };
  await fixture.upload(shop!, flaky("elsewhere"), windows);
  assert.equal((await fixture.get("/api/repos/acme/shop/states")).status, 200);
  // Unnamed legs of a matrix, one of which failed, and one that was run again.
  for (const [attempt, conclusion] of [["1", "failure"], ["1", "passing"], ["2", "passing"]]) {
    const build = { job: "legs", attempt: attempt!, buildUrl: "https://ci.example.com/legs" };
    await fixture.upload(shop!, [{ name: "leg", conclusion: conclusion as "failure" }], build);
  }
  assert.equal((await fixture.get("/repos/acme/shop")).status, 200);
  // A test that gets a file, and has none again when another file has it too.
  for (const file of ["", "a.ts", "b.ts"]) {
    await fixture.upload(shop!, [{ name: "moved", file }], { branch: "main" });
  }
  // A build in which a test failed in several environments.
  let buildId = "";
  for (const environment of ["linux", "windows"]) {
    const build = { environment, buildUrl: "https://ci.example.com/everywhere" };
    const results = [{ name: "everywhere", conclusion: "failure" as const }];
    ({ submissionId: buildId } = await fixture.upload(shop!, results, build));
  }
  assert.equal((await fixture.get(`/repos/acme/shop/builds/${buildId}`)).status, 200);
  // A build that began before the range.
  for (const age of [8 * DAY, 6 * DAY]) {
    const build = { recordedAt: fixture.clock.now - age, buildUrl: "https://ci.example.com/long" };
    await fixture.upload(shop!, [{ name: "quiet" }], build);
  }
  assert.equal((await fixture.get("/repos/acme/shop/builds?days=7")).status, 200);
  // As earlier versions of the program stored it.
  await database.sql`
    delete from failure_evidence where repository_id = ${shop!.repositoryId}`;
  await database.sql`
    update repository_state set data_version = data_version + 1
    where repository_id = ${shop!.repositoryId}`;
  assert.equal((await fixture.get(`/repos/acme/shop/builds/${submissionId}`)).status, 200);
  await resolveTruths(fixture);
}

/** Failures of which the truth depends on another branch, and on runs long ago. */
async function resolveTruths(fixture: Fixture): Promise<void> {
  const repository = await fixture.addRepository("acme", "truths");
  let uploads = 0;
  const upload = async (commit: number, branch: string, message: string | null, name = "test") =>
    await fixture.upload(repository, [
      message === null ? { name: "other" } : { name, conclusion: "failure", message },
    ], {
      branch,
      commitOid: `ace${String(commit).padStart(4, "0")}`,
      recordedAt: fixture.clock.now - 1_000 + uploads++,
    });
  await upload(1, "main", "timeout");
  await upload(1, "fix", "timeout");
  await upload(2, "main", "refused");
  await upload(3, "main", "reset");
  await upload(4, "main", "timeout", "seldom");
  for (let commit = 5; commit <= 105; commit++) await upload(commit, "main", null);
  await upload(106, "main", "timeout", "seldom");
}

const SHOP_NAME = { owner: "acme", name: "shop" };

/** Paths of the contract's fixture, and what they are answered with. */
export function requests(
  { testId, quietTestId, submissionId, repositoryNumber }: {
    testId: string;
    submissionId: string;
    quietTestId: string;
    repositoryNumber: number;
  },
): [path: string, status: number][] {
  const inventory = "/api/v1/flaky/tests";
  const include = "include=tags,time_consumed,quarantine_date,disruptiveness_ratio";
  const cursor = btoa("id:5".padEnd(27, "f"));
  return [
    ["/health", 200],
    ["/api", 204],
    ["/docs", 200],
    ["/none", 404],
    ["/api/me/organizations", 200],
    ["/api/me/repositories", 200],
    ["/api/repos/acme/shop/submissions", 200],
    ["/api/repos/acme/shop/submissions?limit=2", 200],
    [`/api/repos/acme/shop/submissions?after=${cursor}`, 200],
    ["/api/repos/acme/shop/submissions?branch=main,r*", 200],
    ["/api/repos/acme/empty/submissions", 200],
    ["/api/repos/acme/none/submissions", 404],
    ["/api/repos/acme/shop/tests", 200],
    ["/api/repos/acme/shop/tests?sort=recency&q=tags:nightly+last-seen:>2020-01-01", 200],
    ["/api/repos/acme/shop/tests?branch=main,r*", 200],
    ["/api/repos/acme/shop/tests?limit=x", 400],
    [`/api/tests/${testId}`, 200],
    [`/api/tests/${quietTestId}`, 200],
    ["/api/repos/acme/shop/failures", 200],
    ["/api/repos/acme/shop/durations", 200],
    ["/api/repos/acme/shop/slow-tests", 200],
    ["/api/repos/acme/shop/states", 200],
    ["/api/repos/acme/shop/groups", 200],
    ["/repos/acme/shop/slow-tests", 200],
    ["/api/repos/acme/shop/durations?by=class&branch=main&environment=Linux&job=unit", 200],
    ["/api/repos/acme/shop/durations?by=test&as_of=2100-01-01T00:00:00Z", 200],
    ["/api/repos/acme/shop/failures?branch=main", 200],
    [`/api/repos/acme/shop/verdicts?tests=${testId},${quietTestId}&base=main,r*`, 200],
    ["/api/repos/acme/shop/verdicts", 400],
    [`/api/repos/acme/shop/submissions/${submissionId}/tests?limit=2`, 200],
    [`/api/repos/acme/shop/submissions/${"0".repeat(24)}/tests`, 404],
    [`/api/tests/${testId}/runs`, 200],
    [`/api/tests/${testId}/runs?conclusion=failed&branch=main&limit=1`, 200],
    [`/api/tests/${testId}/runs?after=${btoa(`run:${submissionId}:2`)}`, 200],
    [`/api/tests/${testId}/failures`, 200],
    [`/api/tests/${testId}/results`, 200],
    [`/api/tests/${quietTestId}/results`, 200],
    [`/api/tests/${"0".repeat(24)}/results`, 404],
    [inventory, 200],
    [`${inventory}?quarantine=false`, 200],
    [`${inventory}?repository=shop&quarantine=false&${include}`, 200],
    [`${inventory}?repository=acme/shop&repository_id=${repositoryNumber}`, 200],
    [`${inventory}?repository=twin`, 400],
    [`${inventory}?repository_id=${repositoryNumber}&q=ok`, 200],
    ["/api/v1/flaky/badges?repository=shop", 200],
    ["/api/v1/flaky/badges?repository=acme/empty", 200],
    ["/api/v1/coverage/badges?repository=shop", 200],
    ["/api/v1/coverage/badges?repository=empty", 200],
    ["/repos", 200],
    ["/repos/twin", 302],
    ["/repos/acme/shop", 200],
    ["/repos/acme/empty", 200],
    ["/flaky-tests?repository=shop&q=ok", 200],
    [`/tests/${testId}`, 200],
    [`/tests/${quietTestId}`, 200],
    [`/repos/acme/shop/builds/${submissionId}`, 200],
    ["/repos/acme/shop/build?url=https://ci.example/none", 200],
    ["/tests", 200],
    ["/tests?q=ok+a&repository=shop", 200],
    ["/search?q=abcdef0", 302],
    ["/search?q=%2377", 302],
    ["/owners", 200],
    ["/owners/%40acme%2Fweb", 200],
    ["/repos/acme/shop/builds", 200],
    ["/repos/acme/shop/builds?outcome=failed&branch=main", 200],
    ["/repos/acme/shop/builds?outcome=flaky&environment=Linux*", 200],
    ["/repos/acme/shop/builds?outcome=passed&days=90", 200],
    ["/repos/acme/shop/builds?q=main+77", 200],
  ];
}

/** Runs every command that talks to the database. */
export async function exerciseCommands(database: Database): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-statements-" });
  try {
    const program = new Program(database, folder);
    await organizationsAndTokens(program);
    await program.run("webhook add --org big --url https://hooks.example/x");
    await uploads(program);
    await legs(program);
    await outage(program);
    await manyFailures(program);
    await quarantines(program);
    await webhooks(program);
    await watching(program);
    await pruning(program);
    await diagnosis(program);
    await judging(program);
    await transfer(program);
    await removal(program);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Number of the repository big/shop. */
const SHOP = 4711;

/** The command line, in an organization of its own. */
class Program {
  readonly database: Database;
  readonly folder: string;
  readonly #run: ReturnType<typeof commandLine>;

  constructor(database: Database, folder: string) {
    this.database = database;
    this.folder = folder;
    this.#run = commandLine(() => database, { now: () => NOON });
  }

  /** Runs a command line, and returns what it printed. */
  async run(line: string, code = 0): Promise<string> {
    const ending = await this.#run(line.replaceAll("FOLDER", this.folder));
    assert.equal(ending.code, code, `${line}\n${ending.stderr}`);
    return ending.stdout.trim();
  }

  write(name: string, text: string): Promise<void> {
    return Deno.writeTextFile(join(this.folder, name), text);
  }
}

async function organizationsAndTokens(program: Program): Promise<void> {
  await program.run("org create big");
  await program.run("org create big", 1);
  await program.run("org set big --purchase-units 2");
  await program.run("org list");
  await program.run(`repo create big/shop --org big --id ${SHOP}`);
  await program.run("repo create big/shop --org big", 1);
  await program.run(`repo create big/other --org big --id ${SHOP}`, 1);
  // The next free number is taken already.
  const created = JSON.parse(await program.run("repo create big/first --org big --json"));
  await program.run(`repo create big/second --org big --id ${created.repository_id + 1}`);
  await program.run("repo create big/third --org big");
  await program.run("org log --org big");
  await program.run("repo list --org big");
  const token = await program.run("token create --org big --json");
  const hash = "0123456789abcdef".repeat(4);
  await program.run(`token import --org big --hash ${hash}`);
  await program.run(`token import --org big --hash ${hash}`);
  await program.run("token list --org big");
  const { api_token_id: id, organization_id: organizationId } = JSON.parse(token);
  const { sql } = program.database;
  await recordTokenUses(sql, [{ hash, hour: NOON }]);
  // What people do on the pages.
  const of = { organizationId, person: "https://login.example ada" };
  await listOwnTokens(sql, { ...of, now: NOON });
  const { type, hash: ownHash, prefix: tokenPrefix } = makeToken("api_token");
  const own = { ...of, type, hash: ownHash, tokenPrefix, label: "Ada", createdAt: NOON };
  const made = { ...own, expiresAt: NOON + 86_400, most: 1 };
  const origin = { author: "Ada", command: "token create" };
  assert.ok(await storeOwnToken(sql, made, origin));
  assert.equal(await storeOwnToken(sql, made, origin), null);
  assert.equal(await revokeToken(sql, { apiTokenId: id, revokedAt: NOON, of }), null);
  await program.run(`token revoke ${id}`);
  await program.run(`token revoke ${id}`);
  const trust = "trust add --org big --issuer github --claims repository_owner=big";
  const trusted = (await program.run(trust)).trim();
  await program.run(trust);
  await program.run("trust list --org big");
  await program.run(`trust remove ${trusted} --org big`);
  await program.run(`trust remove ${trusted} --org big`);
}

/** A report in which `flaky` fails and passes, and the others pass. All failures have one cause. */
function report(...names: string[]): string {
  const testcase = (name: string, inner = "") =>
    `<testcase classname="c" name="${name}" file="web/${name}.ts" time="0.2">${inner}</testcase>`;
  return `<testsuite name="unit">${
    testcase("flaky", `<flakyFailure message="no ${names.length}"/>`)
  }${names.map((name) => testcase(name)).join("")}</testsuite>`;
}

async function uploads(program: Program): Promise<void> {
  await program.write("a.xml", report("a"));
  await program.write("b.xml", report("a", "b"));
  await program.write("c.xml", reportOf("flaky", "web/flaky.ts"));
  await program.write(
    "failing.xml",
    report("a", "b").replaceAll("flakyFailure", "failure"),
  );
  await program.write("lcov.info", "SF:a\nDA:1,1\nDA:2,0\nend_of_record\n");
  await program.write("CODEOWNERS", "/web/ @big/web\n");
  const ingest = "ingest --org big --repo big/shop";
  const first =
    `${ingest} --commit c000001 --build-url https://ci.example/1 --tags nightly,mail FOLDER/a.xml ` +
    "--coverage FOLDER/lcov.info --codeowners FOLDER/CODEOWNERS";
  await program.run(first);
  // A duplicate replaces the coverage.
  await program.run(first);
  await program.run(`${ingest} --commit c000002 --tree 7ee0002 FOLDER/a.xml --tags nightly`);
  await program.run(
    `${ingest} --commit c000003 --tree 7ee0002 FOLDER/b.xml --codeowners FOLDER/CODEOWNERS`,
  );
  // Fails here, passes there: an earlier result becomes a disruption.
  await program.run(`${ingest} --commit c000004 FOLDER/failing.xml`);
  await program.run(`${ingest} --commit c000004 FOLDER/c.xml`);
  await program.run(`${ingest} --coverage FOLDER/lcov.info --commit c000004`);
  // An abbreviated commit, and the whole.
  await program.run(`${ingest} --commit ${"c000006".padEnd(40, "0")} FOLDER/a.xml`);
  await program.run(`${ingest} --commit c000006 FOLDER/b.xml`);
  // Files that are missing on one side, and a second file.
  await program.write("files.xml", reportOf("missing", "a.ts"));
  await program.write("bare.xml", reportOf("missing", ""));
  await program.write("other.xml", reportOf("missing", "b.ts"));
  await program.write("late.xml", reportOf("late", "late.ts"));
  await program.write("early.xml", reportOf("late", ""));
  // A test that is the parent of another by its name.
  await program.write("sub.xml", report("a").replaceAll('"flaky"', '"flaky/sub"'));
  for (const name of ["files", "bare", "other", "early", "late", "sub"]) {
    await program.run(`${ingest} --commit c000005 FOLDER/${name}.xml`);
  }
  await program.run("ingest --org big --repo big/new --commit c000001 FOLDER/a.xml");
  await program.run("repo rename big/new big/renamed --org big");
  await program.run("repo set big/renamed --org big --base trunk");
  await expectFiles(program);
  await program.run("submission list --org big --repo big/shop");
}

/** Two legs of a matrix without names, the second with a hook that failed. */
async function legs(program: Program): Promise<void> {
  await program.write(
    "hook.xml",
    report("a", "initializationError").replaceAll("></testcase>", "><failure/></testcase>"),
  );
  const leg = "ingest --org big --repo big/legs --commit c000001 --job unit --attempt 1 " +
    "--build-url https://ci.example/legs";
  await program.run(`${leg} FOLDER/a.xml`);
  await program.run(`${leg} FOLDER/hook.xml`);
}

/** More failures than one statement looks at, at a version that has some already. */
async function manyFailures(program: Program): Promise<void> {
  const cases = Array.from(
    { length: 5_001 },
    (_, no) => `<testcase name="t${no}"><failure/></testcase>`,
  );
  await program.write("many.xml", `<testsuite>${cases.join("")}</testsuite>`);
  for (const file of ["failing", "many"]) {
    await program.run(`ingest --org big --repo big/many --commit c000001 FOLDER/${file}.xml`);
  }
}

/** All tests fail at the same time: on two branches, the base branch and in its merge queue. */
async function outage(program: Program): Promise<void> {
  const cases = Array.from(
    { length: 40 },
    (_, no) => `<testcase name="t${no}"><failure message="connection refused"/></testcase>`,
  );
  await program.write("down.xml", `<testsuite>${cases.join("")}</testsuite>`);
  for (const [index, branch] of ["one", "two", "main", "gh-readonly-queue/main/pr-7-a"].entries()) {
    const commit = `c00000${index}`;
    await program.run(
      `ingest --org big --repo big/down --branch ${branch} --commit ${commit} FOLDER/down.xml`,
    );
  }
}

async function shopId(sql: Database["sql"]): Promise<number> {
  const [row] = await sql<{ id: number }[]>`
    select repository_id::float8 as id from repository where repository_number = ${SHOP}`;
  return row!.id;
}

async function quarantines(program: Program): Promise<void> {
  await program.run("quarantine list --org big");
  const { sql } = program.database;
  const [test] = await sql<{ prefix: number; hash: number }[]>`
    select r.id_prefix::float8 as prefix, t.test_hash::float8 as hash
    from repository r join test t on t.repository_id = r.repository_id
    where r.repository_id = ${await shopId(sql)} and t.name = 'a'`;
  const id = testId(test!.prefix, test!.hash);
  await program.run(`quarantine add ${id}`);
  await program.run(`quarantine add ${id}`);
  await program.run(`quarantine add ${id} --expires 30d`);
  await program.run("quarantine list --org big");
  await program.run("quarantine log --org big");
  await program.run(`quarantine remove ${id}`);
  await program.run(`quarantine remove ${id}`);
  const token = (await program.run("token create --org big --quarantine")).trim();
  const by = { hash: hashToken(token, "quarantine"), now: NOON, ...parseTestId(id)! };
  await program.database.sql.begin(async (tx) => {
    const test = (await lockTest(tx, by))!;
    const removal = { removedAt: NOON, removedBy: null, reason: null };
    const origin = { author: "token 1", command: "quarantine remove" };
    const entry = {
      quarantinedAt: NOON,
      quarantinedBy: null,
      quarantineType: "manual" as const,
      quarantineReason: null,
      quarantineOwner: null,
      quarantineExpiresAt: null,
      quarantineEnvironment: null,
    };
    const { quarantine } = await addQuarantineByToken(tx, by, { test, entry, origin });
    const added = { ...test, active: quarantine };
    assert.ok(await removeQuarantineByToken(tx, by, { test: added, removal, origin }));
  });
  // Of a file that is taken back.
  const [{ hash: late } = { hash: 0 }] = await sql<{ hash: number }[]>`
    select test_hash::float8 as hash from test
    where repository_id = ${await shopId(sql)} and file = 'late.ts'`;
  await program.run(`quarantine add ${testId(test!.prefix, late)}`);
  await program.write("moved.xml", reportOf("late", "moved.ts"));
  await program.run("ingest --org big --repo big/shop --commit c000005 FOLDER/moved.xml");
  assert.match(await program.run("quarantine log --org big"), /removed.*belongs to another test/);
  await program.run("quarantine policy set --org big --disruptions 1 --code-versions 1");
  await program.run(`quarantine policy set --org big --repo big/shop --disruptions 1 ${POLICY}`);
  await program.run("quarantine policy show --org big");
  assert.match(await program.run("quarantine apply --org big"), /^enter\t.*\tflaky\t/m);
  // Then it has one that stays, and a submission with a broken environment.
  const names = Array.from({ length: 20 }, (_, index) => `crowd${index}`);
  const failing = `<failure message="down"/></testcase>`;
  await program.write("broken.xml", report("a", ...names).replaceAll("</testcase>", failing));
  await program.run("ingest --org big --repo big/shop --commit c000001 FOLDER/broken.xml");
  assert.match(await program.run("quarantine apply --org big"), /^stay\t/m);
  await program.run("quarantine policy off --org big --repo big/shop");
  await program.run("digest --org big --group-by owner");
}

async function webhooks(program: Program): Promise<void> {
  const { sql } = program.database;
  const [id = ""] = (await program.run("flaky --org big")).split("\t");
  await program.run(`quarantine add ${id} --expires 12h`);
  // Two branches fail alike: an outage. One that passes may end it.
  const failed = '<failure message="connection refused"/>';
  const runs = [["one", "1", failed], ["two", "2", failed], ["two", "3", ""]] as const;
  for (const [branch, version, content] of runs) {
    const cases = Array.from(
      { length: 20 },
      (_, no) => `<testcase name="t${no}">${content}</testcase>`,
    );
    await program.write("outage.xml", `<testsuite>${cases.join("")}</testsuite>`);
    await program.run(
      `ingest --org big --repo big/outage --branch ${branch} --job unit --commit ${version}000000 ` +
        "FOLDER/outage.xml",
    );
  }
  // What is sent at once; then the test has been calm, and its entry has ended.
  for (const now of [NOON + 60, NOON + DAY, NOON + 40 * DAY]) {
    await sendWebhooks({
      sql,
      now: () => now,
      log: silentLog,
      pagesUrl: "",
      post: () => Promise.resolve({ isDelivered: true, outcome: "HTTP 200", retryAfter: 0 }),
    }, { stop: new AbortController().signal, once: true, pollMs: 5 });
  }
  const [delivery = ""] = (await program.run("webhook log --org big")).split("\t");
  await program.run(`webhook resend ${delivery}`);
  const [webhook = ""] = (await program.run("webhook list --org big")).split("\t");
  assert.ok(await loadTarget(sql, Number(webhook)));
  await program.run(`webhook remove ${webhook}`);
  await program.run(`webhook remove ${webhook}`);
}

const POLICY = "--code-versions 1 --min-results 1";

async function watching(program: Program): Promise<void> {
  const { sql } = program.database;
  const source = `${program.folder}/archives`;
  await Deno.mkdir(source);
  const put = async (name: string, text: string) => {
    const metadata = `:commit: ${"0".repeat(40)}\n:repo_name_with_owner: big/watched\n` +
      ":repository_url: https://git.example/big/watched\n";
    const path = join(source, name);
    await Deno.writeFile(
      path,
      await archiveOf([["buildpulse.yml", metadata], ["test_results/a.xml", text]]),
    );
    await Deno.utime(path, NOON - 3_600, NOON - 3_600);
  };
  await put("a.gz", report("a"));
  await put("broken.gz", "<testsuite>");
  await program.run("watch FOLDER/archives --org big --once", 1);
  await program.run("watch FOLDER/archives --org big --once --retry-failed", 1);
  await program.run("watch FOLDER/archives --list");
  // What happens only when a watcher is slow, or another one has been there.
  const claim = { source: "elsewhere", key: "b.gz", claimId: randomUUID() };
  assert.ok(await claimArchive(sql, { ...claim, version: "1", leaseSeconds: 60 }));
  const archives = [{ key: claim.key, version: "1" }];
  const processed = { source: claim.source, archives, state: "processed" } as const;
  assert.deepEqual(await findArchives(sql, processed), []);
  for (const type of ["upload", "quarantine"] as const) {
    assert.equal(await loadUploader(sql, type, { hash: "", now: NOON }), null);
  }
  assert.equal((await validUploadTokenHashes(sql, { hashes: [""], now: NOON })).size, 0);
  assert.equal(await countExpiringTokens(sql, { now: 0, by: 1 }), 0);
  assert.deepEqual(await loadTrusts(sql, ""), []);
  assert.equal((await trustedIssuers(sql, [""])).size, 0);
  await extendClaim(sql, { ...claim, leaseSeconds: 60 });
  const repositoryId = await shopId(sql);
  await sql.begin((tx) => assignArchive(tx, { ...claim, repositoryId }));
  await releaseArchive(sql, { ...claim, reason: "silent", isAttempt: true });
  // What happens only when the process ends during a large upload.
  const stop = new AbortController();
  const stopped = writeTransaction(sql, (tx) => {
    stop.abort(new Error("stopped"));
    return tx`select 1`;
  }, stop.signal);
  await assert.rejects(stopped, /stopped/);
  // As `up` does.
  assert.deepEqual(await findFailedArchives(sql, { source: claim.source, archives }), []);
  await recordVersions(sql, { source: claim.source, archives: [{ key: claim.key, version: "2" }] });
  await sql`update archive set status = 'processed' where source = 'elsewhere'`;
  await recordVersions(sql, { source: claim.source, archives: [{ key: claim.key, version: "2" }] });
  const accepted = { source: "inbox", key: "c.gz", version: "1" };
  await sql.begin(async (tx) => {
    await assignArchive(tx, { ...accepted, repositoryId });
    await finishArchive(tx, accepted, { status: "duplicate" });
  });
}

/** More failures of one code version than one statement of `prune` deletes. */
const MANY_FAILURES = 2_100;

async function pruning(program: Program): Promise<void> {
  const failures = Array.from(
    { length: MANY_FAILURES },
    (_, index) =>
      `<testcase classname="old" name="${index}" file="web/a.ts">` +
      // As long as those that are looked up before they are stored.
      `<failure message="${index}${" is wrong".repeat(30)}"/></testcase>`,
  );
  await program.write("old.xml", `<testsuite name="old">${failures.join("")}</testsuite>`);
  const ingest = "ingest --org big --repo big/old --tags x --coverage FOLDER/lcov.info";
  const old = "--codeowners FOLDER/CODEOWNERS --recorded-at 2025-06-01T00:00:00Z";
  await program.run(`${ingest} ${old} --commit c000001 FOLDER/old.xml`);
  // The list of tests stays, the tags that it had go.
  await program.run(`${ingest} ${old} --commit c000002 FOLDER/a.xml`);
  await program.run(`${ingest} --commit c000003 FOLDER/a.xml`);
  await program.run("prune --keep 90d --dry-run");
  await program.run("prune --keep 90d --org big --repo big/old");
}

/** Three runs of a job: its files are expected from then on. */
async function expectFiles(program: Program): Promise<void> {
  for (const commit of ["e000001", "e000002", "e000003"]) {
    const run = `--commit ${commit} --branch main --job expected --build-url https://ci/${commit}`;
    await program.run(`ingest --org big --repo big/expected ${run} FOLDER/a.xml`);
  }
  const { sql } = program.database;
  const [repository] = await sql<{ repositoryId: number }[]>`
    select repository_id::float8 as "repositoryId" from repository where name = 'expected'`;
  const job = { job: "expected", environment: "", shard: "", buildUrl: "", base: ["main"] };
  assert.ok(await loadExpectedPlaces(sql, { ...repository!, ...job }));
  const others = '<testsuite name="s"><testcase classname="Other" name="other"/></testsuite>';
  await program.write("others.xml", others);
  const other =
    "--commit e000004 --branch fix --job expected --build-url https://ci/e000004 FOLDER/others.xml";
  await program.run(`ingest --org big --repo big/expected ${other}`);
  const [run] = await sql<{ submissionId: string }[]>`
    select encode(submission_id, 'hex') as "submissionId" from submission
    where repository_id = ${repository!.repositoryId} and commit_oid = 'e000004'`;
  const parts = await loadBuild(sql, { ...repository!, ...run! });
  const asked = { ...repository!, parts, unclear: [], base: ["main"] };
  assert.ok(!(await loadWholeness(sql, asked)).whole);
  const build = { ...job, buildUrl: "https://ci/e000003", attempt: "" };
  assert.ok(!await loadIsFailedWithoutTest(sql, { ...repository!, ...build }));
}

/** As after an upgrade from rules by which a test was first flaky at another time. */
async function judging({ database: { sql } }: Program): Promise<void> {
  const repositoryId = await shopId(sql);
  await sql`
    update disruptive_test set first_disruption_at = first_disruption_at + interval '1 second'
    where repository_id = ${repositoryId}`;
  await sql`
    update negative_result set is_disruption = not is_disruption
    where repository_id = ${repositoryId}`;
  await sql`update repository_state set rules = 0 where repository_id = ${repositoryId}`;
  await judgeAgain(sql);
}

async function diagnosis({ database: { sql } }: Program): Promise<void> {
  await loadServerState(sql);
  assert.ok(await canReadSchemaVersion(sql));
  assert.ok(!await isWriterRefused(sql));
  assert.equal((await findSetAside(sql)).length, 0);
  await loadFreshness(sql, { windowStart: NOON });
  await loadLatestNotes(sql, { windowStart: NOON, beginnings: ["a note"] });
  await loadRepositoriesWithoutBranch(sql, { now: NOON });
  await loadUnusedBases(sql, { now: NOON });
}

async function transfer(program: Program): Promise<void> {
  const text = await program.run("export --org big");
  await program.write("big.ndjson", `${text}\n`);
  // Number, ids of tests and tokens are taken.
  await program.run("import FOLDER/big.ndjson --org copy");
  await program.run("import FOLDER/big.ndjson", 1);
  await program.write("cut.ndjson", text.slice(0, text.lastIndexOf("{")));
  await program.run("import FOLDER/cut.ndjson --org cut", 1);
  assert.deepEqual(
    JSON.parse(await program.run("org list --json")).map(({ name }: { name: string }) => name)
      .filter((name: string) => name === "cut"),
    [],
  );
}

async function removal(program: Program): Promise<void> {
  const list = await program.run("submission list --org big --repo big/shop --json");
  for (const { key } of JSON.parse(list)) {
    await program.run(`submission delete ${key} --org big --yes`);
  }
  await program.run("submission delete none --org big --yes", 1);
  await program.run("repo delete big/renamed --org big --yes");
}
