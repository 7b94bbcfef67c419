import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import postgres from "postgres";
import { installedServer, makeOwnServer, type OwnServer } from "./postgres.ts";
import { run, start } from "./program.ts";

const SCRIPT = fileURLToPath(new URL("../../deploy/upload_role.sql", import.meta.url));
const REPORT = '<testsuite name="a"><testcase name="b"/></testsuite>';

describe("the role of deploy/upload_role.sql", { skip: installedServer() === null }, () => {
  let server: OwnServer;
  let receiverUrl = "";
  let folder = "";

  before(async () => {
    server = await makeOwnServer();
    folder = await Deno.makeTempDir();
    const { code, stderr } = await run(["org", "create", "acme"], { DATABASE_URL: server.url });
    assert.equal(code, 0, stderr);
    // Twice: it may be run again.
    for (let n = 0; n < 2; n++) {
      const { success, stderr } = await new Deno.Command(`${installedServer()}/psql`, {
        args: ["--no-psqlrc", server.url, "-f", SCRIPT],
      }).output();
      assert.ok(success, new TextDecoder().decode(stderr));
    }
    const url = new URL(server.url);
    url.username = "test_analytics_receiver";
    receiverUrl = url.href;
  });
  after(async () => {
    await server.remove();
    await Deno.remove(folder, { recursive: true });
  });

  it("is enough for receive, which records the use of tokens with it", async () => {
    const line = ["token", "create", "--org", "acme", "--upload", "--json"];
    const { stdout } = await run(line, { DATABASE_URL: server.url });
    const { token } = JSON.parse(stdout);
    const line2 = ["receive", "--to", folder, "--port", "0", "--ops-port", "0"];
    const running = await start(line2, { DATABASE_URL: receiverUrl });
    const response = await fetch(`${running.url}/upload/acme/shop?commit=4f2a9c1`, {
      method: "PUT",
      headers: { authorization: `Bearer ${token}` },
      body: REPORT,
    });
    assert.equal(response.status, 202, await response.text());
    const { code, stderr } = await running.stop("SIGTERM");
    assert.equal(code, 0, stderr);
    assert.doesNotMatch(stderr, /the last use of tokens is not recorded/);
  });

  it("sees nothing but tokens and their organizations", async () => {
    const sql = postgres(receiverUrl, { max: 1 });
    try {
      for (
        const statement of [
          sql`select * from repository`,
          sql`select * from submission`,
          sql`select purchase_unit_count from organization`,
          sql`update api_token set revoked_at = null`,
          sql`insert into organization (name, name_key, created_at) values ('x', 'x', now())`,
          sql`delete from api_token`,
          sql`create table mine (n integer)`,
        ]
      ) {
        await assert.rejects(Promise.resolve(statement), { code: "42501" });
      }
    } finally {
      await sql.end();
    }
  });
});
