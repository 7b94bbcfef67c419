import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import postgres from "postgres";
import { ConnectionBackoff } from "../../../db/connection/backoff.ts";
import { createPool } from "../../../db/connection/pool.ts";

const REFUSED = Object.assign(new Error("nothing listens"), { code: "ECONNREFUSED" });

/** A pool that connects by `connect`, with counts of its clients and attempts. */
function poolTo(connect: () => Promise<Socket>) {
  const counts = { clients: 0, attempts: 0 };
  const pool = createPool((options) => {
    counts.clients++;
    return postgres("postgres://u@localhost/d", {
      ...options,
      max: 4,
      fetch_types: false,
      connect_timeout: 5,
    });
  }, () => {
    counts.attempts++;
    return connect();
  });
  return { counts, pool };
}

/** The code of the error that a statement fails with. */
function codeOf(statement: PromiseLike<unknown>): Promise<string> {
  return Promise.resolve(statement).then(() => "", (error) => error.code);
}

describe("a pool whose server is unreachable", () => {
  it("keeps its client, and connects rarely, however many statements fail", async () => {
    const { counts, pool } = poolTo(() => Promise.reject(REFUSED));
    const begun = performance.now();
    for (let round = 0; round < 10; round++) {
      const codes = await Promise.all(
        Array.from({ length: 50 }, () => codeOf(pool.sql`select 1`)),
      );
      assert.deepEqual(new Set(codes), new Set(["ECONNREFUSED"]));
    }
    const seconds = (performance.now() - begun) / 1000;
    await pool.close(0);
    assert.equal(counts.clients, 1);
    // Four at once at first, then one every 250 ms.
    assert.ok(
      counts.attempts <= 4 + 1 + 4 * seconds,
      `${counts.attempts} attempts in ${seconds} s`,
    );
    assert.ok(seconds < 20, `500 statements took ${seconds} s`);
  });

  it("connects rarely to a listener that closes every connection", async () => {
    let count = 0;
    const server = createServer((socket) => {
      count++;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { counts, pool } = poolTo(async () => {
      const socket = connect({ host: "127.0.0.1", port });
      await once(socket, "connect");
      return socket;
    });
    const begun = performance.now();
    for (let round = 0; round < 10; round++) {
      await Promise.all(Array.from({ length: 20 }, () => codeOf(pool.sql`select 1`)));
    }
    const seconds = (performance.now() - begun) / 1000;
    await pool.close(0);
    server.close();
    assert.ok(count <= 8 + 4 * seconds, `${count} connections in ${seconds} s`);
    assert.ok(counts.clients <= 1 + count, `${counts.clients} clients`);
    assert.ok(seconds < 20, `200 statements took ${seconds} s`);
  });
});

describe("the connection backoff", () => {
  const failing = (message: string) => () => Promise.reject(new Error(message));

  it("fails at once with the last error after a failed attempt", async () => {
    const backoff = new ConnectionBackoff();
    await assert.rejects(backoff.run(failing("first")), /first/);
    await assert.rejects(backoff.run(() => Promise.resolve("made")), /first/);
  });

  it("ends when the server accepts a connection", async () => {
    const backoff = new ConnectionBackoff();
    backoff.recordFailure(new Error("lost"));
    backoff.recordSuccess();
    assert.equal(await backoff.run(() => Promise.resolve("made")), "made");
  });

  it("gives each caller an error of its own, with the code", async () => {
    const backoff = new ConnectionBackoff();
    backoff.recordFailure(REFUSED);
    const errors: unknown[] = [];
    for (let count = 0; count < 2; count++) {
      await backoff.run(failing("never tried")).catch((error) => errors.push(error));
    }
    assert.notEqual(errors[0], errors[1]);
    assert.deepEqual(errors.map((error) => (error as { code?: string }).code), [
      "ECONNREFUSED",
      "ECONNREFUSED",
    ]);
  });
});
