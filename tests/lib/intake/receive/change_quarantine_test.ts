import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { insertToken, revokeToken } from "../../../../db/admin/tokens.ts";
import { makeToken } from "../../../../lib/base/token.ts";
import { describeWithDatabase } from "../../../database.ts";
import { commandLine, NOON } from "../../cli/run_in_process.ts";
import { reportOf } from "../../report/archive/make_archive.ts";
import { addOrganization, addToken, createReceiver, type Receiver } from "./receive.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";

describeWithDatabase("quarantine over HTTP", (database) => {
  const cli = commandLine(database);
  let receiver: Receiver;
  let acme = 0;
  /** Of the organization, and of its repository `acme/shop` alone. */
  let token = "";
  let shopToken = "";

  before(async () => {
    acme = await addOrganization(database().sql, "acme");
    for (const repository of ["acme/Shop", "acme/web"]) {
      const created = await cli(`repo create ${repository} --org acme`);
      assert.equal(created.code, 0, created.stderr);
    }
    receiver = await createReceiver(database().sql);
    token = await newToken("--label teams");
    shopToken = await newToken("--repo acme/shop");
  });
  after(() => receiver.close());

  async function newToken(options: string, type = "--quarantine"): Promise<string> {
    const { code, stdout, stderr } = await cli(`token create --org acme ${type} ${options}`);
    assert.equal(code, 0, stderr);
    return stdout.trim();
  }

  let count = 0;
  /** The id of a new test. */
  async function newTest(repository = "acme/shop", organization = "acme"): Promise<string> {
    const report = await Deno.makeTempFile({ suffix: ".xml" });
    const name = `test ${++count}`;
    await Deno.writeTextFile(report, reportOf(name));
    const ingested = await cli([
      ...`ingest --org ${organization} --repo ${repository} --commit ${SHA}`.split(" "),
      report,
    ]);
    assert.equal(ingested.code, 0, ingested.stderr);
    await Deno.remove(report);
    const [row] = await database().sql<{ id: string }[]>`
      select lpad(to_hex(r.id_prefix), 11, '0') || lpad(to_hex(t.test_hash), 13, '0') as id
      from test t join repository r using (repository_id) where t.name = ${name}`;
    return row!.id;
  }

  async function send(
    method: string,
    path: string,
    { by = token, body }: { by?: string; body?: BodyInit } = {},
  ): Promise<[status: number, body: Record<string, unknown>]> {
    const response = await receiver.send(path, by, { method, ...body !== undefined && { body } });
    return [response.status, await response.json()];
  }

  const post = (parameters: Record<string, string>, by = token, path = "/quarantine/acme/shop") =>
    send("POST", path, { by, body: new URLSearchParams(parameters) });

  it("the response to JSON, to several parts, or to an invalid end says what to send", async () => {
    const test = await newTest();
    for (const body of [new Blob(["{}"], { type: "application/json" }), new FormData()]) {
      const [status, { errors }] = await send("POST", "/quarantine/acme/shop", { body });
      assert.equal(status, 400);
      assert.match(JSON.stringify(errors), /^{"body":\["expected a form .*-d/);
    }
    const [status, { errors }] = await post({ test, expires: "soon", reason: "x".repeat(5000) });
    assert.equal(status, 400);
    const { expires, reason } = errors as Record<string, string[]>;
    assert.match(expires![0]!, /^invalid end "soon": expected a duration, such as 14d, or a time/);
    assert.match(reason![0]!, /^"x{100}\.\.\." has 5000 characters: expected at most 200$/);
  });

  it("an entry over HTTP is like one of the command line, with a line in the log", async () => {
    const test = await newTest();
    const [status, entry] = await post({
      test,
      by: "Ada L.",
      reason: "slow mail & more",
      owner: "@acme/mail",
      expires: "14d",
    });
    assert.equal(status, 200);
    assert.equal(entry.outcome, "added");
    const listed = JSON.parse((await cli("quarantine list --org acme --json")).stdout);
    const { outcome: _, ...record } = entry;
    assert.deepEqual(record, listed.find(({ id }: { id: string }) => id === test));
    assert.deepEqual(
      [record.repository, record.quarantined_at, record.quarantine_type],
      ["acme/Shop", "2026-02-01T12:00:00Z", "manual"],
    );
    assert.equal(record.quarantine_expires_at, "2026-02-15T12:00:00Z");
    const log = await cli(`quarantine log --org acme --test ${test} --json`);
    assert.deepEqual(
      JSON.parse(log.stdout).map((
        { action, author, quarantine_reason }: Record<string, string>,
      ) => [
        action,
        author,
        quarantine_reason,
      ]),
      [["added", "Ada L.", "slow mail & more"]],
    );
    const changes = JSON.parse((await cli("org log --org acme --json")).stdout);
    const { author, command } = changes.at(-1);
    assert.match(author, /^token \d+ \(teams\)$/);
    assert.equal(command, "quarantine add");
  });

  it("parameters may be in the address, ids in any case, and responses change at once", async () => {
    const test = await newTest();
    const version = async () => {
      const [row] = await database().sql`
        select sum(data_version)::float8 as version from repository_state`;
      return row!.version;
    };
    const before = await version();
    const path = `/quarantine/ACME/shop/?test=${test.toUpperCase()}&owner=ada&by=`;
    const [status, { id, quarantined_by, quarantine_owner }] = await send("POST", path);
    assert.deepEqual([status, id, quarantined_by, quarantine_owner], [200, test, null, "ada"]);
    assert.equal(await version(), before + 1);
  });

  it("what the form and the address say differently is refused with both, and changes nothing", async () => {
    const [one, other] = [await newTest(), await newTest()];
    const say = (address: string, fields: Record<string, string> | [string, string][]) => {
      const [method, path] = address.split(" ");
      return send(method!, `/quarantine/acme/shop${path}`, { body: new URLSearchParams(fields) });
    };
    const expected = "expected one of them";
    for (
      const [address, fields, errors] of [
        [`POST ?test=${one}`, { test: other }, {
          test: [`"${one}" in the address, "${other}" in the form: ${expected}`],
        }],
        [`POST ?test=${one}&expires=400d&reason=races`, { expires: "1d", reason: "slow" }, {
          expires: [`"400d" in the address, "1d" in the form: ${expected}`],
          reason: [`"races" in the address, "slow" in the form: ${expected}`],
        }],
        [`POST ?owner=ada&owner=eve`, { test: "x", owner: "eve" }, {
          test: ['invalid test id "x": expected 24 hex digits'],
          owner: [`"ada" in the address, "eve" in the form: ${expected}`],
        }],
        ["POST ", [["test", one], ["by", "ada"], ["by", "eve"]], {
          by: [`"ada" in the form, "eve" in the form: ${expected}`],
        }],
        [`DELETE /${one}?by=ada`, { by: "eve" }, {
          by: [`"ada" in the address, "eve" in the form: ${expected}`],
        }],
      ] as [string, Record<string, string> | [string, string][], Record<string, string[]>][]
    ) {
      assert.deepEqual(await say(address, fields), [400, { errors }], address);
    }
    assert.equal((await cli(`quarantine log --org acme --test ${one}`)).stdout, "");
    const alike = { test: one.toUpperCase(), reason: "races", owner: "ada" };
    const [status] = await say(`POST ?test=${one}&reason=races&owner=&by=`, alike);
    assert.equal(status, 200);
  });

  it("a second entry of a test changes its reason, owner and end only", async () => {
    const test = await newTest();
    await post({ test, by: "ada", reason: "first", expires: "1d" });
    const [, changed] = await post({ test, by: "eve", owner: "ada", expires: "2d" });
    assert.deepEqual(
      [changed.outcome, changed.quarantined_by, changed.quarantine_reason],
      ["changed", "ada", "first"],
    );
    const [, unchanged] = await post({ test, by: "eve", owner: "ada", expires: "2d" });
    assert.equal(unchanged.outcome, "unchanged");
  });

  it("an entry may be limited to environments, and stays so when its reason changes", async () => {
    const test = await newTest();
    const [, added] = await post({ test, environment: "Windows*" });
    const [, changed] = await post({ test, reason: "slow" });
    assert.deepEqual(
      [added.quarantine_environment, changed.quarantine_environment, changed.outcome],
      ["Windows*", "Windows*", "changed"],
    );
  });

  it("DELETE ends a quarantine, and is harmless when repeated", async () => {
    const test = await newTest();
    await post({ test });
    const path = `/quarantine/acme/shop/${test}?by=ada&reason=fixed`;
    const [status, removed] = await send("DELETE", path);
    assert.deepEqual([status, removed.outcome, removed.quarantined_at], [200, "removed", null]);
    const [, again] = await send("DELETE", path);
    assert.equal(again.outcome, "unchanged");
    const { stdout } = await cli(`quarantine log --org acme --test ${test} --json`);
    assert.deepEqual(
      JSON.parse(stdout).map(({ action, quarantine_reason: reason }: Record<string, string>) => [
        action,
        reason,
      ]),
      [["added", null], ["removed", "fixed"]],
    );
  });

  it("wrong parameters are refused with all errors, and change nothing", async () => {
    const wrong = { test: "x", by: "a\nb", reason: "r".repeat(201), expires: "soon", who: "ada" };
    const [status, { errors }] = await post(wrong);
    assert.equal(status, 400);
    const messages = Object.entries(errors as Record<string, string[]>).map(([name, [text]]) =>
      `${name}: ${text}`
    );
    assert.equal(messages.length, 5);
    assert.match(messages.join("\n"), /invalid test id "x": expected 24 hex digits/);
    assert.match(messages.join("\n"), /reason: .*201 characters: expected at most 200/);
    assert.match(messages.join("\n"), /^who: unknown parameter: expected test, by, reason, owner/m);
    const test = await newTest();
    const [, past] = await post({ test, expires: "2026-01-31T12:00:00Z" });
    assert.deepEqual(past, {
      errors: { expires: ['"2026-01-31T12:00:00Z" is not after 2026-02-01T12:00:00Z'] },
    });
    const [missing] = await post({});
    assert.equal(missing, 400);
    const [large] = await post({ test, reason: "x".repeat(20_000) });
    assert.equal(large, 413);
    const { stdout } = await cli(`quarantine log --org acme --test ${test}`);
    assert.equal(stdout, "");
  });

  it("tests of another repository or organization are unknown", async () => {
    await addOrganization(database().sql, "globex");
    const elsewhere = await newTest("acme/web");
    const foreign = await newTest("globex/shop", "globex");
    const message = 'no such test in "acme/shop": expected its id as on its page';
    for (const test of [elsewhere, foreign, "0".repeat(24)]) {
      assert.deepEqual(await post({ test }), [404, { message }]);
      assert.equal((await send("DELETE", `/quarantine/acme/shop/${test}`))[0], 404);
    }
    const [status] = await post({ test: foreign }, token, "/quarantine/globex/shop");
    assert.equal(status, 404);
    assert.equal((await send("DELETE", "/quarantine/acme/shop/nonsense"))[0], 404);
    const { stdout } = await cli("quarantine list --org globex");
    assert.equal(stdout, "");
  });

  it("a token for one repository changes no other", async () => {
    const test = await newTest("acme/web");
    assert.deepEqual(await post({ test }, shopToken, "/quarantine/acme/web"), [
      403,
      { message: 'this token is only for "acme/Shop"' },
    ]);
    const [status] = await post({ test: await newTest() }, shopToken);
    assert.equal(status, 200);
  });

  it("changes need a quarantine token, which opens nothing else", async () => {
    const { sql } = database();
    const revoked = await newToken("--label revoked");
    const [row] = await sql<{ id: number }[]>`select max(api_token_id) as id from api_token`;
    await revokeToken(sql, { apiTokenId: row!.id, revokedAt: NOON });
    const upload = await addToken(sql, acme);
    for (
      const [by, message] of [
        [upload, /^an upload token, which only uploads: expected a quarantine token \(qt_ and 64/],
        [revoked, /^unknown, expired or revoked quarantine token: create one .*--quarantine`$/],
        [`qt_${"0".repeat(64)}`, /^unknown, expired or revoked quarantine token/],
        [`qt_${"0".repeat(60)}`, /^incomplete or changed quarantine token/],
        [await addToken(sql, acme, "api_token"), /^an API token, which only reads/],
      ] as const
    ) {
      const [status, body] = await post({ test: "0".repeat(24) }, by);
      assert.equal(status, 401);
      assert.match(String(body.message), message);
    }
    const [status, body] = await send("PUT", `/upload/acme/shop?commit=${SHA}`, { body: "x" });
    assert.equal(status, 401);
    assert.match(String(body.message), /^a quarantine token, which only quarantines tests/);
  });

  it("other methods than POST and DELETE are refused, whatever the token is for", async () => {
    const id = "0".repeat(24);
    for (
      const [method, path, allowed] of [
        ["GET", "/quarantine/acme/shop", "POST"],
        ["DELETE", "/quarantine/acme/shop", "POST"],
        ["PUT", `/quarantine/acme/shop/${id}`, "DELETE"],
        ["POST", `/quarantine/acme/shop/${id}`, "DELETE"],
        ["GET", "/quarantine/acme/web", "POST"],
      ] as const
    ) {
      for (const by of [token, shopToken]) {
        const response = await receiver.send(path, by, { method });
        const found = [response.status, response.headers.get("allow")];
        assert.deepEqual(found, [405, allowed], `${method} ${path}`);
        await response.body?.cancel();
      }
    }
  });

  it("equal changes at the same time are recorded once", async () => {
    const test = await newTest();
    const all = await Promise.all(Array.from({ length: 4 }, () => post({ test, by: "ada" })));
    assert.deepEqual(all.map(([, { outcome }]) => outcome).sort(), [
      "added",
      "unchanged",
      "unchanged",
      "unchanged",
    ]);
  });

  it("upload tokens for one repository upload to it alone", async () => {
    const upload = await newToken("--repo acme/shop", "--upload");
    const request = { body: reportOf("uploaded") };
    const taken = await receiver.send(`/upload/ACME/shop?commit=${SHA}`, upload, request);
    assert.equal(taken.status, 202, await taken.text());
    const other = await receiver.send(`/upload/acme/web?commit=${SHA}`, upload, request);
    assert.equal(other.status, 403);
    assert.deepEqual(await other.json(), { message: 'this token is only for "acme/Shop"' });
    const rows = JSON.parse((await cli("token list --org acme --json")).stdout);
    const opens = rows.map((row: Record<string, string>) => row.opens);
    for (const one of ["quarantine", "quarantine of acme/Shop", "uploads to acme/Shop"]) {
      assert.ok(opens.includes(one), one);
    }
    // A token is gone with its repository.
    await cli("repo create acme/gone --org acme");
    const gone = await newToken("--repo acme/gone", "--upload");
    await cli("repo delete acme/gone --org acme --yes");
    const late = await receiver.send(`/upload/acme/gone?commit=${SHA}`, gone, request);
    assert.equal(late.status, 401);
    await late.body?.cancel();
  });

  it("the database refuses API tokens for one repository", async () => {
    const { sql } = database();
    const [repository] = await sql<{ id: number }[]>`
      select repository_id::float8 as id from repository limit 1`;
    const { hash, prefix: tokenPrefix } = makeToken("api_token");
    const row = { organizationId: acme, type: "api_token" as const, hash, tokenPrefix };
    const times = { label: null, createdAt: NOON, expiresAt: null };
    await assert.rejects(
      insertToken(sql, { ...row, ...times, repositoryId: repository!.id }),
      { code: "23514" },
    );
  });
});
