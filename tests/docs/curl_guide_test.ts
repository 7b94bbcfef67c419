import assert from "node:assert/strict";
import { after, before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, type Fixture, flaky } from "../routes/fixture.ts";

const GUIDE = new URL("../../docs/guides/curl.md", import.meta.url);

/** More flaky tests than two of the script's pages contain. */
const TEST_COUNT = 203;

describeWithDatabase("the script of the curl guide", (database) => {
  let fixture: Fixture;
  let repository: Repository;
  let server: Deno.HttpServer<Deno.NetAddr>;
  let script: string;
  let queryStrings: string[];

  before(async () => {
    const guide = await Deno.readTextFile(GUIDE);
    script = /```sh\n(#!\/bin\/sh\n[^]*?)```/.exec(guide)?.[1] ?? "";
    assert.ok(script, "the guide has a script");
    fixture = await createFixture(database(), { name: "acme" });
    repository = await fixture.addRepository("acme/web", "shop");
    const names = Array.from({ length: TEST_COUNT }, (_, index) => `test ${index}`);
    await fixture.upload(repository, names.flatMap((name) => flaky(name)), {
      buildUrl: "https://ci/1",
    });
    // One build of four has a flaky failure: 25 %.
    for (const number of [2, 3, 4]) {
      await fixture.upload(repository, [{ name: "passes" }], { buildUrl: `https://ci/${number}` });
    }
    await fixture.addRepository("acme", "empty");
    queryStrings = [];
    server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
      queryStrings.push(new URL(request.url).search);
      return fixture.app(request);
    });
  });
  after(async () => {
    await server?.shutdown();
  });

  async function run(args: string[], token = fixture.token) {
    const { code, stdout, stderr } = await new Deno.Command("sh", {
      args: ["-c", script, "flaky.sh", ...args],
      env: { BASE_URL: `http://127.0.0.1:${server.addr.port}`, TOKEN: token },
    }).output();
    const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, lines: decode(stdout).trimEnd().split("\n"), stderr: decode(stderr) };
  }

  it("lists all flaky tests page by page and succeeds at the threshold", async () => {
    queryStrings = [];
    const { code, lines, stderr } = await run(["acme/web/shop", "25"]);
    assert.deepEqual([code, stderr], [0, "flakiness: 25 (at most 25)\n"]);
    assert.equal(lines.length, TEST_COUNT);
    const names = lines.map((line) => line.split("\t")[2]);
    assert.equal(new Set(names).size, TEST_COUNT);
    assert.ok(lines.includes("0.5\tsuite\ttest 7\ttest.ts\thttps://ci/1"), lines[0]);
    assert.equal(queryStrings.filter((text) => text.includes("limit=100")).length, 3);
  });

  it("fails a job above the threshold", async () => {
    for (const threshold of ["24.9", "0"]) {
      const { code, stderr } = await run(["ACME/web/Shop", threshold]);
      assert.deepEqual([code, stderr], [1, `flakiness: 25 (at most ${threshold})\n`]);
    }
  });

  it("succeeds for a repository without builds", async () => {
    const { code, lines, stderr } = await run(["acme/empty"]);
    assert.deepEqual([code, lines, stderr], [0, [""], "flakiness: unknown (at most 20)\n"]);
  });

  it("prints the error when a request fails", async () => {
    const unknown = await run(["acme/nothing"]);
    assert.equal(unknown.code, 2);
    assert.match(unknown.stderr, /no list of tests: \{"message":"Not Found"\}/);
    const refused = await run(["acme/empty"], `tk_${"0".repeat(64)}`);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /401/);
  });
});
