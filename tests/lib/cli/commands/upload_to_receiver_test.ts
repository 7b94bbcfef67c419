/** `upload.ts`, to a receiver. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { describeWithDatabase } from "../../../database.ts";
import { reportOf } from "../../report/archive/make_archive.ts";
import {
  addOrganization,
  addToken,
  createReceiver,
  type Receiver,
} from "../../intake/receive/receive.ts";
import { commandLine, NOON } from "../run_in_process.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";

describeWithDatabase("upload to a receiver", (database) => {
  const cli = commandLine(database);
  let receiver: Receiver;
  let token = "";
  let folder = "";
  let server: Deno.HttpServer<Deno.NetAddr>;
  /** What the server answers instead of the receiver, in turn. */
  const instead: Response[] = [];
  const requests: string[] = [];

  before(async () => {
    const { sql } = database();
    receiver = await createReceiver(sql);
    token = await addToken(sql, await addOrganization(sql, "acme"));
    folder = await Deno.makeTempDir();
    await Deno.writeTextFile(join(folder, "a.xml"), reportOf("a"));
    server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, (request) => {
      requests.push(`${request.method} ${new URL(request.url).pathname}`);
      return instead.shift() ?? receiver.app(request);
    });
  });
  after(async () => {
    await server.shutdown();
    await receiver.close();
    await Deno.remove(folder, { recursive: true });
  });

  const upload = (environment: Record<string, string>, repository = "acme/shop", path = "") => {
    const to = `http://127.0.0.1:${server.addr.port}${path}`;
    const line = ["upload", "--to", to, "--repo", repository, "--commit", SHA];
    return cli([...line, join(folder, "a.xml")], { environment });
  };

  it("prints the key, and needs no more than address and token", async () => {
    const { code, stdout, stderr } = await upload({ UPLOAD_TOKEN: token });
    assert.deepEqual([code, stderr], [0, ""]);
    assert.match(stdout, /^acme\/shop\/20260201T120000Z-[0-9a-f]{16}\.gz\n$/);
    assert.deepEqual(await receiver.files(), [stdout.trim()]);
    const now = () => NOON + 100;
    await receiver.age();
    const watched = await cli(["watch", receiver.folder, "--once"], { now });
    assert.equal(watched.stdout, `${stdout.trim()}\tprocessed\t1\n`);
  });

  it("takes the token from a file, and an address with a path", async () => {
    const file = join(folder, "token");
    await Deno.writeTextFile(file, `${token}\n`);
    instead.push(Response.json({ key: "k.gz" }, { status: 202 }));
    const { code, stdout } = await upload({ UPLOAD_TOKEN_FILE: file }, "group/sub/shop", "/ci/");
    assert.deepEqual([code, stdout], [0, "k.gz\n"]);
    assert.equal(requests.at(-1), "PUT /ci/upload/group/sub/shop");
    const both = await upload({ UPLOAD_TOKEN_FILE: file, UPLOAD_TOKEN: token });
    assert.equal(both.code, 2);
    assert.match(both.stderr, /UPLOAD_TOKEN and UPLOAD_TOKEN_FILE: expected only one/);
    assert.ok(!both.stderr.includes(token));
  });

  it("retries after Retry-After", async () => {
    const before = requests.length;
    instead.push(new Response(null, { status: 503, headers: { "retry-after": "1" } }));
    const begun = performance.now();
    assert.equal((await upload({ UPLOAD_TOKEN: token })).code, 0);
    assert.equal(requests.length, before + 2);
    assert.ok(performance.now() - begun >= 1_000);
  });

  it("says what is wrong and what to do", async () => {
    const wrong = await upload({ UPLOAD_TOKEN: `up_${"0".repeat(64)}` });
    assert.equal(wrong.code, 1);
    assert.match(wrong.stderr, /HTTP 401: .*not the API.*UPLOAD_TOKEN.* --upload`/);
    assert.ok(!wrong.stderr.includes("up_0"));
    const without = await upload({});
    assert.equal(without.code, 1);
    assert.match(without.stderr, /HTTP 401: .*UPLOAD_TOKEN.* --upload`/);
    instead.push(Response.json({ errors: { commit: ["one"], tree: ["two"] } }, { status: 400 }));
    const refused = await upload({ UPLOAD_TOKEN: token });
    assert.deepEqual([refused.code, /: one; two\n$/.test(refused.stderr)], [1, true]);
    for (const status of [200, 404]) {
      instead.push(new Response("<html>", { status }));
      const other = await upload({ UPLOAD_TOKEN: token });
      assert.equal(other.code, 1);
      assert.match(other.stderr, /expected the address of `.* receive`|HTTP 404: check --to/);
    }
  });

  it("without a token is a plain PUT, as to any other address", async () => {
    instead.push(new Response(null, { status: 201 }));
    const { code, stdout } = await upload({}, "acme/shop", "/reports/");
    assert.equal(code, 0);
    assert.match(stdout, /^http:\S+\/reports\/acme-shop-20260201T120000Z-[0-9a-f]{16}\.gz\n$/);
    // A presigned address has credentials of its own: the token is not for it.
    instead.push(new Response(null, { status: 200 }));
    await upload({ UPLOAD_TOKEN: token }, "acme/shop", "/a.gz?signature=x");
    assert.equal(requests.at(-1), "PUT /a.gz");
  });
});
