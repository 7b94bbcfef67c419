import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { readDatabaseUrl } from "../../../db/connection/database_url.ts";
import { hostConnector } from "../../../db/connection/hosts.ts";

/** AuthenticationOk and ReadyForQuery. */
const ACCEPTED = Uint8Array.of(0x52, 0, 0, 0, 8, 0, 0, 0, 0, 0x5a, 0, 0, 0, 5, 0x49);

describe("host selection", () => {
  it("times out on a server that hangs after accepting the connection, and tries it again later", async () => {
    const sockets: Socket[] = [];
    const frozen = createServer((socket) => {
      sockets.push(socket);
      socket.on("error", () => {});
      socket.once("data", () => socket.write(ACCEPTED));
    }).listen(0, "127.0.0.1");
    await once(frozen, "listening");
    const { port } = frozen.address() as AddressInfo;
    const url = readDatabaseUrl(`postgres://u@127.0.0.1:${port}/d?target_session_attrs=primary`);
    const connect = hostConnector(url, 300);
    try {
      for (const time of [1, 2]) {
        const begun = performance.now();
        await assert.rejects(connect(), { code: "CONNECT_TIMEOUT" });
        assert.ok(performance.now() - begun < 10_000);
        assert.equal(sockets.length, time, "one connection for each attempt");
      }
    } finally {
      for (const socket of sockets) socket.destroy();
      frozen.close();
    }
  });
});
