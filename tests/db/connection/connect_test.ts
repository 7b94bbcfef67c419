import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { describe, it } from "@std/testing/bdd";
import { openDatabase } from "../../../db/connection/connect.ts";
import { openTestEmbedded, openTestServer, withDatabase } from "../../database.ts";
import { pause } from "../../../lib/base/delay.ts";

const SECRET = "open-sesame";

/** The error message for a URL; checks that it does not contain the password. */
async function refusal(databaseUrl: string): Promise<string> {
  try {
    await (await openDatabase({ databaseUrl, dataDir: "" })).close();
  } catch (error) {
    assert.ok(error instanceof Error);
    assert.ok(!Deno.inspect(error).includes(SECRET), "the password is shown");
    return error.message;
  }
  return "";
}

describe("DATABASE_URL", () => {
  const wrong: [string, RegExp][] = [
    [`${SECRET}`, /^DATABASE_URL is not the URL of a PostgreSQL server; expected postgres:/],
    [
      `mysql://u:${SECRET}@localhost/d`,
      /^DATABASE_URL is not the URL of a PostgreSQL server; expected/,
    ],
    [`postgres://u:${SECRET}%@localhost/d`, /^DATABASE_URL cannot be read; .*percent-encoded$/],
    [`postgres://u:${SECRET}@localhost:99999/d`, /^DATABASE_URL cannot be read; /],
    [`postgres://u:${SECRET}#@localhost/d`, /^DATABASE_URL /],
    [`postgres://localhost/d`, /^DATABASE_URL names no user; /],
    [`postgres://u:${SECRET}@localhost`, /^DATABASE_URL names no database; /],
    [
      `postgres://u:${SECRET}@db-1,db-2/d`,
      /^DATABASE_URL names several hosts; expected one that leads to the primary$/,
    ],
    [
      `postgres://u:${SECRET}@db-1:5432,db-2:5432/d`,
      /^DATABASE_URL cannot be read; .*, one host, /,
    ],
    [
      `postgres://u:${SECRET}@127.0.0.1:1/d`,
      /^the PostgreSQL server at 127\.0\.0\.1:1 \(DATABASE_URL\) cannot be used: nothing listens/,
    ],
  ];
  for (const [url, message] of wrong) {
    it(`${JSON.stringify(url.replace(SECRET, "***"))} is refused with an explanation`, async () => {
      assert.match(await refusal(url), message);
    });
  }

  it("of an unresponsive server fails after connect_timeout", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const accepted = once(silent, "connection");
    const url = `postgres://u:${SECRET}@127.0.0.1:${port}/d?connect_timeout=1`;
    assert.match(
      await refusal(url),
      /cannot be used: it did not answer in time \(CONNECT_TIMEOUT\)/,
    );
    const [socket] = await accepted;
    socket.destroy();
    silent.close();
    await once(silent, "close");
  });
});

/** Connections that another client opens one after the other while a statement waits for one that is replaced. */
const MAX_OPENED = 10;

const serverUrl = process.env.TEST_DATABASE_URL ?? "";

describe("a connection to a PostgreSQL server", { skip: !serverUrl }, () => {
  it("fails when the database does not exist", async () => {
    const message = await refusal(withDatabase(serverUrl, "no_such_database"));
    assert.match(
      message,
      /cannot be used: database "no_such_database" does not exist \(3D000\)/,
    );
  });

  it("refuses writes when opened read-only", async () => {
    const database = await openDatabase({ databaseUrl: serverUrl, dataDir: "", readOnly: true });
    try {
      await assert.rejects(Promise.resolve(database.sql`create table t (n integer)`), {
        code: "25006",
      });
    } finally {
      await database.close();
    }
  });

  it("cancels statements at the timeout", async () => {
    const database = await openDatabase({
      databaseUrl: serverUrl,
      dataDir: "",
      statementTimeoutMs: 50,
    });
    try {
      await assert.rejects(Promise.resolve(database.sql`select pg_sleep(5)`), { code: "57014" });
    } finally {
      await database.close();
    }
  });

  it("turns JIT compilation off", async () => {
    const database = await openDatabase({ databaseUrl: serverUrl, dataDir: "" });
    try {
      const [row] = await database.sql`select current_setting('jit') as jit`;
      assert.equal(row?.jit, "off");
    } finally {
      await database.close();
    }
  });

  it("ignores the PG* variables of the environment", async () => {
    // In a process of its own: the environment of this one belongs to other tests too.
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", fileURLToPath(new URL("print_settings.ts", import.meta.url))],
      env: { PGAPPNAME: "leaked", PGTARGETSESSIONATTRS: "standby" },
      stdin: "null",
    }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.equal(decode(stdout), '["test-analytics","leaked"]', decode(stderr));
  });

  it("that is lost in a transaction fails that transaction only", async () => {
    // In a process of its own, because the test runner survives uncaught errors.
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", fileURLToPath(new URL("lose_transactions.ts", import.meta.url))],
      stdin: "null",
    }).output();
    assert.equal(
      new TextDecoder().decode(stdout),
      Array(4).fill("CONNECTION_CLOSED, then 1").join(", "),
      new TextDecoder().decode(stderr),
    );
  });

  it("is replaced at once when it is lost under load", async () => {
    // A stuck connection takes as long as connecting may: a minute, unlike a busy machine.
    const url = new URL(serverUrl);
    url.searchParams.set("connect_timeout", "60");
    const database = await openTestServer(url.href);
    const admin = await openDatabase({ databaseUrl: serverUrl, dataDir: "", maxConnections: 1 });
    let [stop, isDone] = [false, false];
    let opened = 0;
    let most = 0;
    const load = async () => {
      while (!stop) {
        const before = opened;
        await database.sql`select ${1}::integer as n`.catch(() => {});
        most = Math.max(most, opened - before);
      }
    };
    // Not a clock: a busy machine slows these down as well.
    const openOthers = async () => {
      for (; !isDone; opened++) {
        const other = await openDatabase({
          databaseUrl: serverUrl,
          dataDir: "",
          maxConnections: 1,
        });
        await other.sql`select 1`;
        await other.close();
      }
    };
    try {
      const [row] = await database.sql<{ name: string }[]>`select current_database() as name`;
      const others = openOthers();
      const running = Array.from({ length: 8 }, load);
      for (let count = 0; count < 10; count++) {
        await pause(20);
        await admin.sql`
          select pg_terminate_backend(pid) from pg_stat_activity where datname = ${
          row?.name ?? ""
        }`;
      }
      stop = true;
      await Promise.all(running);
      isDone = true;
      await others;
      assert.deepEqual([...await database.sql`select 1 as n`], [{ n: 1 }]);
      assert.ok(most < MAX_OPENED, `a statement took as long as opening ${most} connections`);
    } finally {
      stop = isDone = true;
      await database.close();
      await admin.close();
    }
  });
});

describe("the embedded database", () => {
  it("finishes a long transaction although requests time out meanwhile", async () => {
    const database = await openTestEmbedded();
    try {
      const rows = await database.sql.begin(async (tx) => {
        database.renew(0);
        // Replaced connections end within 1 s.
        await pause(1_500);
        return await tx<{ one: number }[]>`select 1 as one`;
      });
      assert.deepEqual([...rows], [{ one: 1 }]);
    } finally {
      await database.close();
    }
  });
});
