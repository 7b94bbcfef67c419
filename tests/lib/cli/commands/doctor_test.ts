// More in `fixtures/transcripts/doctor.txt`.
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import process from "node:process";
import { openDatabase } from "../../../../db/connection/connect.ts";
import {
  loadFreshness,
  loadRepositoriesWithoutBranch,
  loadUnusedBases,
} from "../../../../db/admin/diagnostics.ts";
import { setBaseBranch } from "../../../../db/admin/repositories.ts";
import { copyTemplate, describeWithDatabases } from "../../../database.ts";
import { BUILD } from "../../../../lib/system/build.ts";
import { createFixture, createShop, DAY, flaky, NOW } from "../../../routes/fixture.ts";
import { commandLine, withoutDatabase } from "../run_in_process.ts";

const cli = commandLine(() => {
  throw new Error("the doctor opens what it finds by itself");
});

describe("doctor", () => {
  it("examines reports without a database: tool, what it hides, names that collide", async () => {
    const folder = new URL("../../../../fixtures/laboratory/jest/", import.meta.url).pathname;
    const { code, stdout } = await withoutDatabase(["doctor", "--reports", folder, "--json"]);
    assert.equal(code, 0);
    const findings: { check: string; status: string; finding: string; hint: string }[] = JSON
      .parse(stdout);
    const files = findings.find(({ finding }) => /files\.xml: jest, 14 results$/.test(finding))!;
    assert.deepEqual([files.check, files.status], ["report", "ok"]);
    const about = (check: string) => findings.find((one) => one.check === check)!;
    const notes = findings.filter(({ check }) => check === "note").map(({ finding }) => finding);
    assert.match(about("retries").hint, /^upload CTRF/);
    assert.match(about("files").hint, /^JEST_JUNIT_ADD_FILE_ATTRIBUTE=true/);
    assert.ok(notes.some((note) => /count as one test.*"cart same name" \(2 cases\)/.test(note)));
  });

  it("wraps findings and hints on a terminal, so that all of them can be read", async () => {
    const argv = ["doctor", "--reports", "fixtures/laboratory/jest"];
    const { stdout: json } = await withoutDatabase([...argv, "--json"]);
    const { stdout } = await withoutDatabase(argv, { columns: 80 });
    for (const line of stdout.split("\n")) assert.ok(line.length <= 80, line);
    const text = stdout.replaceAll(/\s+/g, " ");
    for (const { status, check, finding, hint } of JSON.parse(json)) {
      const said = `${status} ${check} ${finding} ${hint}`.replaceAll(/\s+/g, " ").trim();
      assert.ok(text.includes(said), said);
    }
    assert.match(
      stdout,
      /^warn {2}loading {2}jest leaves out files that did not load\n {15}JEST_/m,
    );
  });

  it("examines an embedded database, also while it is in use, and changes nothing", async () => {
    const folder = await copyTemplate();
    try {
      const { code, stdout, stderr } = await cli(["doctor", "--data-dir", folder, "--json"], {
        now: () => Math.floor(Date.now() / 1000),
      });
      assert.deepEqual([code, stderr], [0, ""]);
      const findings: { check: string; status: string; finding: string }[] = JSON.parse(stdout);
      assert.deepEqual(findings.map(({ check, status }) => `${check} ${status}`), [
        "database ok",
        "schema ok",
        "clock ok",
        "uploads warn",
        "data folder ok",
        "disk ok",
        "program ok",
      ]);
      assert.equal(findings.at(-1)!.finding, BUILD);
      assert.match(
        findings[0]!.finding,
        /^embedded PostgreSQL 18\..* not in use by another process/,
      );
      const database = await openDatabase({ dataDir: folder });
      const second = await cli(["doctor", "--data-dir", folder]);
      assert.match(second.stdout, /^ok\tdatabase\t.*, in use by another process; /);
      await database.close();
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("names a data folder that is open to other users", async () => {
    const folder = await copyTemplate();
    try {
      await Deno.chmod(folder, 0o750);
      const { code, stdout } = await cli(["doctor", "--data-dir", folder], {
        now: () => Math.floor(Date.now() / 1000),
      });
      assert.equal(code, 0);
      assert.match(
        stdout,
        /^warn\tdata folder\t\S+ is open to other users \(mode 750\)\trun `chmod 700 \S+`$/m,
      );
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("says that the secret of sign-in can be guessed, or cannot be read", async () => {
    const folder = await copyTemplate();
    try {
      const examine = async (environment: Record<string, string>) => {
        const now = () => Math.floor(Date.now() / 1000);
        const { code, stdout } = await cli(["doctor", "--data-dir", folder], { environment, now });
        assert.equal(code, 0, stdout);
        return stdout.split("\n").filter((line) => line.includes("sign-in"));
      };
      assert.deepEqual(await examine({ OIDC_CLIENT_SECRET: "secret" }), [
        "warn\tsign-in\tOIDC_CLIENT_SECRET has fewer than 16 characters: anyone who guesses it can " +
        "forge sessions\tuse a random one of at least 32 characters",
      ]);
      const [unreadable] = await examine({ OIDC_CLIENT_SECRET_FILE: "/nonexistent" });
      assert.match(
        unreadable!,
        /^warn\tsign-in\tOIDC_CLIENT_SECRET_FILE: .* cannot be read: .*\tcheck the path, and run doctor as/,
      );
      assert.deepEqual(await examine({ OIDC_CLIENT_SECRET: "0123456789abcdef" }), []);
      assert.deepEqual(await examine({}), []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("counts the uploads that wait in the inbox for more than a minute", async () => {
    const folder = await copyTemplate();
    try {
      const now = Math.floor(Date.now() / 1000);
      const waiting = async () => {
        const { stdout } = await cli(["doctor", "--data-dir", folder], { now: () => now });
        return /^warn\tuploads\t(.* in the inbox.*)$/m.exec(stdout)?.[1];
      };
      await Deno.mkdir(`${folder}/inbox/acme/shop`, { recursive: true });
      for (const [index, age] of [30, 40].entries()) {
        const path = `${folder}/inbox/acme/shop/${index}.gz`;
        await Deno.writeTextFile(path, "x");
        await Deno.utime(path, now - age, now - age);
      }
      assert.equal(await waiting(), undefined);
      const path = `${folder}/inbox/acme/shop/2.gz`;
      await Deno.writeTextFile(path, "x");
      await Deno.utime(path, now - 3_600, now - 3_600);
      const since = new Date((now - 3_600) * 1000).toISOString().replace(".000Z", "Z");
      assert.equal(
        await waiting(),
        `3 uploads wait in the inbox, the oldest since ${since}\t` +
          "start `up`, or read in its log why they cannot be stored",
      );
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("shows the other findings when the inbox cannot be read, as by another user", async () => {
    const folder = await copyTemplate();
    try {
      // The user of the tests may be root, who may read every folder.
      await Deno.writeTextFile(`${folder}/inbox`, "not a folder");
      const now = () => Math.floor(Date.now() / 1000);
      const { code, stdout, stderr } = await cli(["doctor", "--data-dir", folder], { now });
      assert.deepEqual([code, stderr], [0, ""]);
      assert.match(stdout, /^ok\tdatabase\t/m);
      assert.match(stdout, /^warn\tuploads\tinbox: .*\/inbox.*\trun doctor as the user of `up`$/m);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("creates no database where there is none, says so, and ends with 1", async () => {
    const folder = await Deno.makeTempDir();
    try {
      const { code, stdout, stderr } = await cli(["doctor", "--data-dir", `${folder}/new`]);
      assert.equal(code, 1);
      assert.match(
        stdout,
        /^fail\tdatabase\tno embedded database in .*\/new\tcreate it with `deno task cli migrate`/,
      );
      assert.match(stdout, /\nok\tdisk\t.* free in /);
      assert.equal(stderr, "error: failed checks: database\n");
      assert.deepEqual([...Deno.readDirSync(folder)], []);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  });

  it("explains a server that cannot be reached, without its password", async () => {
    const { code, stdout } = await cli("doctor --database-url postgres://u:sesame@127.0.0.1:1/d");
    assert.equal(code, 1);
    assert.match(stdout, /^fail\tdatabase\t.*127\.0\.0\.1:1.*nothing listens there/);
    assert.ok(!stdout.includes("sesame"));
  });

  it("examines a server", { skip: !process.env.TEST_DATABASE_URL }, async () => {
    const url = process.env.TEST_DATABASE_URL ?? "";
    const { stdout } = await cli(["doctor", "--database-url", url, "--json"]);
    const checks = JSON.parse(stdout).map(({ check }: { check: string }) => check);
    assert.deepEqual(checks.slice(0, 6), [
      "database",
      "schema",
      "clock",
      "role",
      "disk",
      "program",
    ]);
  });
});

describeWithDatabases("a diagnosis", (database) => {
  it("counts fresh data", async () => {
    const { sql } = database();
    const { fixture, shop } = await createShop(database());
    await fixture.addRepository("acme", "quiet");
    await fixture.upload(shop, flaky("a"));
    assert.deepEqual({ ...await loadFreshness(sql, { windowStart: NOW - 14 * DAY }) }, {
      repositoryCount: 2,
      activeRepositoryCount: 1,
      newestRecordedAt: NOW - 100,
    });
    assert.equal((await loadFreshness(sql, { windowStart: NOW })).activeRepositoryCount, 0);
  });

  it("names the repositories of which no upload names its branch", async () => {
    const { sql } = database();
    const fixture = await createFixture(database(), { name: "branches" });
    for (
      const [name, ...branches] of [["none"], ["unnamed", null], ["old", null, "main"], [
        "named",
        null,
        "fix",
      ]]
    ) {
      const repository = await fixture.addRepository("branches", name!);
      for (const branch of branches) {
        const recordedAt = NOW - (name === "old" && branch !== null ? 91 * DAY : 100);
        await fixture.upload(repository, [{ name: "a" }], { branch: branch!, recordedAt });
      }
    }
    const told = await fixture.addRepository("branches", "told");
    await fixture.upload(told, [{ name: "a" }], { defaultBranch: "next" });
    const found = await loadRepositoriesWithoutBranch(sql, { now: NOW });
    assert.deepEqual(found.filter((name) => name.startsWith("branches/")), [
      "branches/old",
      "branches/unnamed",
    ]);
  });

  it("names the repositories whose base branch has no builds, although other branches have", async () => {
    const { sql } = database();
    const fixture = await createFixture(database(), { name: "bases" });
    for (
      const [name, base, ...branches] of [
        ["typo", "mian", "main", "main", "next"],
        ["right", "main", "main", "next"],
        ["empty", "main"],
        ["unnamed", "main", null],
        ["old", "main", "main", "next"],
      ] as const
    ) {
      const repository = await fixture.addRepository("bases", name);
      await setBaseBranch(sql, repository, base);
      for (const [index, branch] of branches.entries()) {
        const recordedAt = NOW - (name === "old" && branch === "main" ? 91 * DAY : 100);
        const buildUrl = `https://ci.example/${index}`;
        await fixture.upload(repository, [{ name: "a" }], { branch, recordedAt, buildUrl });
      }
    }
    const found = await loadUnusedBases(sql, { now: NOW });
    assert.deepEqual(found.filter(({ repository }) => repository.startsWith("bases/")), [
      { repository: "bases/old", base: "main", branches: ["next"] },
      { repository: "bases/typo", base: "mian", branches: ["main", "next"] },
    ]);
  });
});

describe("healthcheck", () => {
  async function against(answer: () => Response | Promise<Response>) {
    const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, answer);
    try {
      return await withoutDatabase(["healthcheck", "--port", String(server.addr.port)]);
    } finally {
      await server.shutdown();
    }
  }

  it("ends with 0 when the service answers", async () => {
    const { code, stdout, stderr } = await against(() => new Response(`{"status":"ok"}\n`));
    assert.deepEqual([code, stdout, stderr], [0, "ok\n", ""]);
  });

  it("asks on this machine when the service listens on all addresses", async () => {
    const server = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => Response.json({ status: "ok" }),
    );
    try {
      const environment = { HOST: "0.0.0.0", PORT: String(server.addr.port) };
      const { code, stdout } = await withoutDatabase("healthcheck --json", { environment });
      assert.equal(code, 0);
      assert.equal(JSON.parse(stdout).url, `http://127.0.0.1:${server.addr.port}/health`);
    } finally {
      await server.shutdown();
    }
  });

  it("ends with 1 when it does not, or something else does", async () => {
    const broken = await against(() => new Response(null, { status: 500 }));
    assert.equal(broken.code, 1);
    assert.match(broken.stderr, /^error: unexpected response from http:\S+\/health: expected /);
    const other = await against(() => new Response("It works!"));
    assert.match(other.stderr, /unexpected response from \S+: expected {"status":"ok"}/);
    const absent = await withoutDatabase("healthcheck --port 1");
    assert.equal(absent.code, 1);
    assert.match(absent.stderr, /^error: no response from http:\/\/127\.0\.0\.1:1\/health: /);
  });
});
