import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "@std/testing/bdd";
import { type Database, openDatabase } from "../../../db/connection/connect.ts";
import { type Session, SessionServer } from "../../../db/embedded/session.ts";
import { copyTemplate } from "../../database.ts";
import { run } from "./run.ts";
import { pause } from "../../../lib/base/delay.ts";

const PROCESSES = 3;

const SILENCE_TIMEOUT_MS = 100;

describe("clients of the embedded database", () => {
  let dataDir = "";
  let database: Database;
  before(async () => {
    dataDir = await copyTemplate();
    database = await openDatabase({ dataDir });
  });
  after(async () => {
    await database.close();
    await Deno.remove(dataDir, { recursive: true });
  });

  it("do not interfere with each other's statements", async () => {
    await database.sql`create table hammer (process integer, round integer)`;
    const outcomes = await Promise.all(
      Array.from({ length: PROCESSES }, () => run("hammer", dataDir)),
    );
    assert.deepEqual(outcomes, Array(PROCESSES).fill("ok\n"));
  });

  it("leave no prepared statements behind", async () => {
    const prepared = async () => {
      const [row] = await database.sql<{ count: number }[]>`
        select count(*)::integer as count from pg_prepared_statements`;
      return row?.count;
    };
    await prepared();
    const count = await prepared();
    const client = await openDatabase({ dataDir });
    for (let n = 0; n < 5; n++) {
      await client.sql`select ${n}::integer as n, ${client.sql.unsafe(String(n))} as other`;
    }
    assert.notEqual(await prepared(), count);
    await client.close();
    assert.equal(await prepared(), count);
  });
});

const STARTUP = Uint8Array.of(0, 0, 0, 9, 0, 3, 0, 0, 0);
const BEGIN = Uint8Array.of(0x51, 0, 0, 0, 11, ...new TextEncoder().encode("begin\0"), 0);

function ready(status: string): Uint8Array {
  return Uint8Array.of(0x5a, 0, 0, 0, 5, status.charCodeAt(0));
}

/** CommandComplete and ReadyForQuery. */
function completed(status: string): Uint8Array {
  return Uint8Array.of(0x43, 0, 0, 0, 6, 0x78, 0, ...ready(status));
}

/** Connects `count` clients to a server in front of `session`. */
async function withClients(
  count: number,
  session: Session,
  body: (clients: Socket[], failures: unknown[]) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  const failures: unknown[] = [];
  const sessions = new SessionServer(session, {
    onFailure: (error) => failures.push(error),
    silenceTimeoutMs: SILENCE_TIMEOUT_MS,
  });
  const server = createServer((socket) => sessions.accept(socket)).listen(join(folder, "socket"));
  await once(server, "listening");
  const clients = Array.from({ length: count }, () => connect(join(folder, "socket")));
  try {
    await Promise.all(clients.map((client) => once(client, "connect")));
    for (const client of clients) {
      client.write(STARTUP);
      await once(client, "data");
    }
    await body(clients, failures);
  } finally {
    for (const client of clients) client.destroy();
    const closed = once(server, "close");
    server.close();
    await sessions.drain(1_000);
    await closed;
    await Deno.remove(folder, { recursive: true });
  }
}

/** A session that reports a transaction from the first simple query until a rollback. */
function sessionInTransaction(): Session {
  return {
    execProtocolRawStream: (message, { onRawData }) => {
      const rollsBack = new TextDecoder().decode(message).includes("rollback");
      onRawData(completed(message[0] === 0x51 && !rollsBack ? "T" : "I"));
      return Promise.resolve();
    },
  };
}

describe("the session server", () => {
  it("makes clients wait for a transaction, and disconnects a client that is silent in one", async () => {
    await withClients(2, sessionInTransaction(), async ([first, second]) => {
      first!.write(BEGIN);
      await once(first!, "data");
      second!.write(BEGIN);
      const begun = Date.now();
      await Promise.all([once(first!.resume(), "close"), once(second!, "data")]);
      const waited = Date.now() - begun;
      assert.ok(waited >= SILENCE_TIMEOUT_MS / 2, `the second waited only ${waited} ms`);
    });
  });

  it("accepts messages in chunks of any size", async () => {
    await withClients(1, sessionInTransaction(), async ([client]) => {
      const answer = once(client!, "data");
      for (const byte of BEGIN) {
        client!.write(Uint8Array.of(byte));
        await pause(1);
      }
      assert.deepEqual([...(await answer)[0]], [...completed("T")]);
    });
  });

  it("notices a statement that ends without a result", async () => {
    const session: Session = {
      execProtocolRawStream: (_message, { onRawData }) => {
        onRawData(ready("I"));
        return Promise.resolve();
      },
    };
    await withClients(1, session, async ([client], failures) => {
      const closed = once(client!.resume(), "close");
      client!.write(BEGIN);
      await closed;
      assert.deepEqual(failures.map(String), [
        "Error: the engine stopped in the middle of a statement",
      ]);
    });
  });

  it("closes all connections when the session breaks, and reports it once", async () => {
    const session: Session = {
      execProtocolRawStream: (message, { onRawData }) => {
        if (message[0] === 0x51) return Promise.reject(new Error("out of memory"));
        onRawData(ready("I"));
        return Promise.resolve();
      },
    };
    await withClients(2, session, async (clients, failures) => {
      const closed = clients.map((client) => once(client.resume(), "close"));
      clients[0]!.write(BEGIN);
      await Promise.all(closed);
      assert.deepEqual(failures.map(String), ["Error: out of memory"]);
    });
  });
});
