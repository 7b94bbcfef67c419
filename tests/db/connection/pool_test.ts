import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { connect, createServer, type Socket } from "node:net";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import postgres from "postgres";
import { Attempts } from "../../../db/connection/backoff.ts";
import { durablePool } from "../../../db/connection/pool.ts";

const REFUSED = Object.assign(new Error("nothing listens"), { code: "ECONNREFUSED" });

/** A pool whose connections go where `way` says, and what was made for it. */
function poolTo(way: () => Promise<Socket>) {
  const made = { pools: 0, tries: 0 };
  const pool = durablePool((life) => {
    made.pools++;
    return postgres("postgres://u@localhost/d", {
      ...life,
      max: 4,
      fetch_types: false,
      connect_timeout: 5,
    });
  }, () => () => {
    made.tries++;
    return way();
  });
  return { made, pool };
}

/** How a statement ends: the code of its error. */
function codeOf(statement: PromiseLike<unknown>): Promise<string> {
  return Promise.resolve(statement).then(() => "", (error) => error.code);
}

describe("a pool whose database is away", () => {
  it("stays the same one, and tries seldom, however many statements fail", async () => {
    const { made, pool } = poolTo(() => Promise.reject(REFUSED));
    const begun = performance.now();
    for (let round = 0; round < 10; round++) {
      const codes = await Promise.all(
        Array.from({ length: 50 }, () => codeOf(pool.sql`select 1`)),
      );
      assert.deepEqual(new Set(codes), new Set(["ECONNREFUSED"]));
    }
    const seconds = (performance.now() - begun) / 1000;
    await pool.close(0);
    assert.equal(made.pools, 1);
    // Four at once in the beginning, then one in each quarter of a second.
    assert.ok(made.tries <= 4 + 1 + 4 * seconds, `${made.tries} tries in ${seconds} s`);
    assert.ok(seconds < 5, `500 statements took ${seconds} s`);
  });

  it("tries seldom as well when somebody listens and lets nobody in", async () => {
    let count = 0;
    const server = createServer((socket) => {
      count++;
      socket.destroy();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const { made, pool } = poolTo(async () => {
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
    assert.ok(made.pools <= 1 + count, `${made.pools} pools`);
    assert.ok(seconds < 5, `200 statements took ${seconds} s`);
  });
});

describe("tries to reach a database", () => {
  const failing = (message: string) => () => Promise.reject(new Error(message));

  it("are made for all once one has failed", async () => {
    const attempts = new Attempts();
    await assert.rejects(attempts.make(failing("first")), /first/);
    await assert.rejects(attempts.make(() => Promise.resolve("made")), /first/);
  });

  it("are made as usual once the server has let somebody in", async () => {
    const attempts = new Attempts();
    attempts.failed(new Error("lost"));
    attempts.succeeded();
    assert.equal(await attempts.make(() => Promise.resolve("made")), "made");
  });

  it("hand out errors of which each is somebody's own, with the code", async () => {
    const attempts = new Attempts();
    attempts.failed(REFUSED);
    const errors: unknown[] = [];
    for (let count = 0; count < 2; count++) {
      await attempts.make(failing("never tried")).catch((error) => errors.push(error));
    }
    assert.notEqual(errors[0], errors[1]);
    assert.deepEqual(errors.map((error) => (error as { code?: string }).code), [
      "ECONNREFUSED",
      "ECONNREFUSED",
    ]);
  });
});
