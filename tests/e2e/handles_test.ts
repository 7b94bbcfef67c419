import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { copyTemplate } from "../database.ts";
import { type ProgramLine, start } from "./program.ts";
import { createAcme } from "./prepare.ts";
import { waitUntil } from "../wait_until.ts";

const MAIN = fileURLToPath(new URL("../../main.ts", import.meta.url));

/** Limit of open files, low enough for a test to exhaust. */
const HANDLES = 200;

const WITH_FEW_HANDLES: ProgramLine = {
  file: "sh",
  args: ["-c", `ulimit -n ${HANDLES}; exec "$0" "$@"`, Deno.execPath(), "run", "-A", MAIN],
};

describe("a service that runs out of file handles", () => {
  let dataDir = "";
  let token = "";

  before(async () => {
    dataDir = await copyTemplate();
    token = (await createAcme({ DATA_DIR: dataDir })).api;
  });
  after(() => Deno.remove(dataDir, { recursive: true }));

  it("closes all connections and recovers, each time", async () => {
    const running = await start(["serve", "--port", "0"], { DATA_DIR: dataDir }, WITH_FEW_HANDLES);
    const { hostname, port } = new URL(running.url);
    const headers = { authorization: `Bearer ${token}` };
    const status = async () => {
      try {
        const response = await fetch(`${running.url}/api`, { headers });
        await response.body?.cancel();
        return response.status;
      } catch {
        return null;
      }
    };
    const connections: Deno.Conn[] = [];
    try {
      for (let round = 0; round < 2; round++) {
        assert.equal(await status(), 204);
        for (let count = 0; count < 2 * HANDLES; count++) {
          try {
            connections.push(await Deno.connect({ hostname, port: Number(port) }));
          } catch {
            break;
          }
        }
        assert.ok(connections.length > 0);
        const responds = async () => await status() === 204;
        await waitUntil("it responds again", responds, { pauseMs: 100, deadlineMs: 10_000 });
      }
    } finally {
      const { code, stderr } = await running.stop("SIGTERM");
      for (const connection of connections) connection.close();
      assert.equal(code, 0, stderr);
      assert.match(
        stderr,
        /"listener restarted","error":".*os error 24.*","connections_closed":true/,
      );
    }
  });
});
