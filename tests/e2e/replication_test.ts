import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { startForwarder } from "./forwarder.ts";
import { launch } from "./launch.ts";
import { installedServer } from "./postgres.ts";
import { runHere } from "./prepare.ts";
import { type Ending, type Running, start } from "./program.ts";
import { ask, flakyReport, Replicas, type SeenResponse, startLoad, statement } from "./replicas.ts";
import { waitUntil } from "../wait_until.ts";

/** Time within which the service must recover after a server is back; a client may wait for 20 s by default. */
const RECOVERY_MS = 9_000;

const PATHS = [
  "/api/repos/acme/shop/submissions",
  "/api/repos/acme/shop/tests",
  "/api/v1/flaky/tests?quarantine=false&include=tags,disruptiveness_ratio",
  "/api/v1/flaky/badges?repository=shop",
  "/api/v1/coverage/badges?repository=shop",
];

const reason = installedServer() === null ? "there are no PostgreSQL programs" : false;

describe("a streaming replica", { skip: reason }, () => {
  let replicas: Replicas;
  let onPrimary: Running;
  let onStandby: Running;
  let token: string;

  before(async () => {
    replicas = await Replicas.start();
    const environment = { DATABASE_URL: replicas.primary.url };
    await succeeds(runHere(["org", "create", "acme"], environment));
    token = await newToken();
    await succeeds(replicas.ingest(replicas.primary.url, { commit: "c1", names: ["adds"] }));
    await replicas.untilReplayed();
    [onPrimary, onStandby] = await Promise.all(
      [replicas.primary, replicas.standby].map(({ url }) =>
        start(["serve", "--port", "0"], { DATABASE_URL: url })
      ),
    ) as [Running, Running];
  });
  after(async () => {
    await Promise.all([onPrimary, onStandby].map((running) => running.stop("SIGTERM")));
    await replicas.remove();
  });

  async function newToken(): Promise<string> {
    const environment = { DATABASE_URL: replicas.primary.url };
    const { stdout } = await succeeds(runHere(["token", "create", "--org", "acme"], environment));
    return stdout.trim();
  }

  function all(running: Running): Promise<SeenResponse[]> {
    return Promise.all(PATHS.map((path) => ask(running, path, token)));
  }

  it("serves the same bodies and ETags as its primary, with only its URL configured", async () => {
    const told = await all(onPrimary);
    assert.deepEqual(new Set(told.map(({ status }) => status)), new Set([200]));
    assert.match(told[1]!.body, /"name":"adds"/);
    assert.deepEqual(await all(onStandby), told);
  });

  it("serves the data that has reached it", async () => {
    const earlier = await all(onPrimary);
    await replicas.pauseReplay();
    await succeeds(
      replicas.ingest(replicas.primary.url, { commit: "c2", names: ["adds", "removes"] }),
    );
    const later = await all(onPrimary);
    assert.match(later[1]!.body, /"name":"removes"/);
    assert.deepEqual(await all(onStandby), earlier);
    await replicas.resumeReplay();
    assert.deepEqual(await all(onStandby), later);
  });

  it("accepts a token until its revocation arrives", async () => {
    const revoked = await newToken();
    await replicas.untilReplayed();
    const status = async (running: Running) => (await ask(running, "/api", revoked)).status;
    assert.deepEqual([await status(onPrimary), await status(onStandby)], [204, 204]);
    await replicas.pauseReplay();
    const environment = { DATABASE_URL: replicas.primary.url };
    const list = await succeeds(runHere(["token", "list", "--org", "acme", "--json"], environment));
    const { api_token_id } = JSON.parse(list.stdout).at(-1);
    await succeeds(runHere(["token", "revoke", String(api_token_id)], environment));
    assert.deepEqual([await status(onPrimary), await status(onStandby)], [401, 204]);
    await replicas.resumeReplay();
    assert.equal(await status(onStandby), 401);
  });

  it("refuses writes with an explanation", async () => {
    const { code, stderr } = await replicas.ingest(replicas.standby.url, {
      commit: "c3",
      names: ["adds"],
    });
    assert.equal(code, 1);
    assert.match(stderr, /^error: the database is read-only: expected a primary/m);
    assert.match(stderr, /^Try: deno task cli doctor$/m);
  });

  it("is reported by doctor with its lag", async () => {
    const environment = { DATABASE_URL: replicas.standby.url };
    const role = async () => {
      const { stdout } = await runHere(["doctor", "--json"], environment);
      return JSON.parse(stdout).find(({ check }: { check: string }) => check === "role");
    };
    assert.match((await role()).finding, /^a replica, 0 s behind$/);
    await replicas.pauseReplay();
    await succeeds(runHere(["org", "create", "other"], { DATABASE_URL: replicas.primary.url }));
    assert.match((await role()).finding, /^a replica, at most \d+ s behind$/);
    await replicas.resumeReplay();
  });

  it("that is lost leads to empty 500 responses until it is back", async () => {
    const before = await all(onStandby);
    await replicas.standby.stop("immediate");
    for (const told of await all(onStandby)) {
      assert.deepEqual([told.status, told.body], [500, ""]);
    }
    await replicas.standby.start();
    const responds = async () => (await ask(onStandby, "/api", token)).status === 204;
    const passed = await waitUntil("the standby's service responds", responds);
    assert.ok(passed < RECOVERY_MS, `it took ${passed} ms`);
    assert.deepEqual(await all(onStandby), before);
  });

  it("takes over from a lost primary without a restart of any process", async () => {
    const { primary, standby } = replicas;
    // The virtual address of the primary.
    const forwarder = await startForwarder(primary.port);
    const environment = { DATABASE_URL: forwarder.url };
    const uploads = join(replicas.folder, "uploads");
    await Deno.mkdir(uploads);
    const moving = await start(["serve", "--port", "0"], environment);
    const watcher = launch(["watch", uploads, "--org", "acme", "--interval", "1s"], environment);
    const load = startLoad({ standby: onStandby, moving }, token);
    const shows = (running: Running, name: string) => async () =>
      (await ask(running, PATHS[1]!, token)).body.includes(`"name":"${name}"`);
    const upload = async (name: string) => {
      const report = join(replicas.folder, `${name}.xml`);
      await Deno.writeTextFile(report, flakyReport([name]));
      const args = [
        "upload",
        "--repo",
        "acme/shop",
        "--commit",
        "c500000",
        "--to",
        uploads,
        report,
      ];
      await succeeds(runHere(args, {}));
    };
    try {
      await upload("waits");
      await waitUntil("the upload is stored", shows(onPrimary, "waits"));
      await replicas.untilReplayed();
      await primary.stop("immediate");
      const { code, stderr } = await replicas.ingest(forwarder.url, { commit: "c4", names: ["x"] });
      assert.equal(code, 1);
      assert.match(stderr, /cannot be used: it closed the connection/);

      await upload("goes on");
      await standby.promote();
      forwarder.switchTo(standby.port);
      const responds = async () => (await ask(moving, "/api", token)).status === 204;
      const moved = await waitUntil("the moved service responds", responds);
      assert.ok(moved < RECOVERY_MS, `it took ${moved} ms to go to the standby`);
      await succeeds(replicas.ingest(forwarder.url, { commit: "c4", names: ["moves"] }));
      for (const running of [onStandby, moving]) assert.ok(await shows(running, "moves")());
      const taken = await waitUntil("the upload is stored", shows(onStandby, "goes on"));
      assert.ok(taken < 5_000, `the watcher took ${taken} ms`);
    } finally {
      const told = await load.stop();
      const [, watched] = await Promise.all([moving.stop("SIGTERM"), watcher.stop()]);
      forwarder.close();
      assert.equal(watched.code, 0, watched.stderr);
      // Promotion closes no connections; only requests to the lost primary fail.
      assert.deepEqual(Object.keys(told.standby), ["204"]);
      assert.ok(Object.keys(told.moving).every((status) => ["204", "500"].includes(status)));
    }
    const [row] = await statement(standby, (sql) => sql`select pg_is_in_recovery() as r`);
    assert.equal(row?.r, false);
  });
});

async function succeeds(ending: Promise<Ending>): Promise<Ending> {
  const { code, stderr } = await ending;
  assert.equal(code, 0, stderr);
  return await ending;
}
