import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import process from "node:process";
import { openDatabase } from "../../db/connection/connect.ts";
import { copyTemplate, openTestServer, withDatabase } from "../database.ts";
import { type Running, start } from "./program.ts";
import { createAcme, runHere } from "./prepare.ts";
import { waitUntil } from "../wait_until.ts";

const SERVER = process.env.TEST_DATABASE_URL ?? "";
const UPLOADS = 8;
/** Enough that most uploads still wait when the last of them is acknowledged. */
const TESTS = 1_000;

function reportOf(no: number, count: number): string {
  const tests = Array.from(
    { length: count },
    (_, at) => `<testcase classname="upload ${no}" name="test ${at}"/>`,
  );
  return `<testsuite name="unit">${tests.join("")}</testsuite>`;
}

async function succeed(command: string, args: string[]): Promise<void> {
  const { code, stderr } = await new Deno.Command(command, { args }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
}

/** Makes a backup into a new folder; returns the environment of a service on what it restores. */
type BackUp = (
  environment: Record<string, string>,
  folder: string,
) => Promise<Record<string, string>>;

function describeBackup(
  name: string,
  open: (dataDir: string) => Promise<{
    environment: Record<string, string>;
    backUp: BackUp;
    close(): Promise<void>;
  }>,
  options: { skip?: boolean } = {},
): void {
  describe(name, options, () => {
    let dataDir = "";
    let folder = "";
    let setup: Awaited<ReturnType<typeof open>>;
    let tokens = { api: "", upload: "" };

    before(async () => {
      dataDir = await copyTemplate();
      folder = await Deno.makeTempDir({ prefix: "test-analytics-backup-" });
      setup = await open(dataDir);
      tokens = await createAcme(setup.environment);
    });
    after(async () => {
      await setup.close();
      for (const path of [dataDir, folder]) await Deno.remove(path, { recursive: true });
    });

    async function send(up: Running, repository: string, no: number, tests = TESTS): Promise<void> {
      const commit = no.toString(16).padStart(40, "0");
      const response = await fetch(`${up.uploadUrl}/upload/acme/${repository}?commit=${commit}`, {
        method: "PUT",
        headers: { authorization: `Bearer ${tokens.upload}` },
        body: reportOf(no, tests),
      });
      assert.equal(response.status, 202, await response.text());
    }

    /** Number of stored submissions. */
    async function storedCount(up: Running, repository: string): Promise<number> {
      const response = await fetch(
        `${up.url}/api/repos/acme/${repository}/submissions?limit=100`,
        { headers: { authorization: `Bearer ${tokens.api}` } },
      );
      const { submissions = [] } = await response.json();
      return submissions.filter(({ status }: { status: string }) => status === "processed").length;
    }

    it("holds every upload that was acknowledged before it", async () => {
      const up = await start(["up", "--port", "0", "--upload-port", "0"], setup.environment);
      let isBusy = true;
      const others = (async () => {
        for (let no = 0; isBusy; no++) await send(up, "others", no, 1);
      })();
      let restored: Record<string, string>;
      try {
        await Promise.all(Array.from({ length: UPLOADS }, (_, no) => send(up, "shop", no)));
        restored = await setup.backUp(setup.environment, join(folder, "copy"));
      } finally {
        isBusy = false;
        await others.catch(() => {});
        await up.stop("SIGKILL");
      }

      const again = await start(["up", "--port", "0", "--upload-port", "0"], restored);
      try {
        let count = 0;
        const areStored = async () => (count = await storedCount(again, "shop")) >= UPLOADS;
        await waitUntil("all uploads are stored", areStored, { pauseMs: 200, deadlineMs: 300_000 });
        assert.equal(count, UPLOADS);
      } finally {
        await again.stop("SIGTERM");
      }
    });
  });
}

describeBackup("a backup of the embedded database", (dataDir) =>
  Promise.resolve({
    environment: { DATA_DIR: dataDir },
    async backUp(environment, folder) {
      const { code, stderr } = await runHere(["backup", folder], environment);
      assert.equal(code, 0, stderr);
      return { DATA_DIR: folder };
    },
    close: () => Promise.resolve(),
  }));

describeBackup("a backup of a PostgreSQL server and its inbox", async (dataDir) => {
  const database = await openTestServer(SERVER);
  const [row] = await database.sql<{ name: string }[]>`select current_database() as name`;
  const url = withDatabase(SERVER, row!.name);
  const restored = `${row!.name}_restored`;
  return {
    environment: { DATABASE_URL: url, DATA_DIR: dataDir },
    async backUp(_environment, folder) {
      await Deno.mkdir(folder);
      const inbox = join(folder, "inbox.tar");
      // 1: archives were processed meanwhile, so they are in the dump.
      const { code } = await new Deno.Command("tar", {
        args: ["-C", dataDir, "--exclude", ".unfinished", "-cf", inbox, "inbox"],
      }).output();
      assert.ok(code === 0 || code === 1);
      const dump = join(folder, "dump");
      await succeed("pg_dump", ["--format", "custom", "--file", dump, url]);
      await database.sql`create database ${database.sql(restored)}`;
      await succeed("pg_restore", [
        "--no-owner",
        "--exit-on-error",
        "--dbname",
        withDatabase(SERVER, restored),
        dump,
      ]);
      const target = join(folder, "data");
      await Deno.mkdir(target, { mode: 0o700 });
      await succeed("tar", ["-C", target, "-xf", inbox]);
      return { DATABASE_URL: withDatabase(SERVER, restored), DATA_DIR: target };
    },
    async close() {
      await database.close();
      const admin = await openDatabase({ databaseUrl: SERVER, dataDir: "", maxConnections: 1 });
      await admin.sql`drop database if exists ${admin.sql(restored)} with (force)`;
      await admin.close();
    },
  };
}, { skip: SERVER === "" });
