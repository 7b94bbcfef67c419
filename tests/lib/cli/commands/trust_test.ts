import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { describeWithDatabases } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabases("trust", (database) => {
  const cli = commandLine(database);
  const run = async (line: string | string[]) => {
    const { code, stdout, stderr } = await cli(line);
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  };

  before(async () => {
    for (
      const line of ["org create acme", "org create other", "repo create acme/shop --org acme"]
    ) await run(line);
  });

  it("adds an issuer, lists it and removes it", async () => {
    const add = "trust add --org acme --issuer github --claims repository_owner=acme";
    const { stdout: id } = await run(add);
    assert.match(id, /^\d+\n$/);
    const again = await run(add);
    assert.deepEqual(again, {
      stdout: id,
      stderr: `${id.trim()} already exists and is unchanged\n`,
    });
    const list = (await run("trust list --org acme")).stdout;
    assert.equal(
      list,
      `${id.trim()}\thttps://token.actions.githubusercontent.com\trepository_owner=acme\t\t\tfalse\t` +
        "2026-02-01T12:00:00Z\n",
    );
    const [trust] = JSON.parse((await run("trust list --org acme --json")).stdout);
    assert.deepEqual(trust, {
      trusted_issuer_id: Number(id),
      issuer: "https://token.actions.githubusercontent.com",
      claims: { repository_owner: "acme" },
      repository: null,
      repository_claim: null,
      has_keys: false,
      created_at: "2026-02-01T12:00:00Z",
    });
    assert.equal((await run(`trust remove ${id.trim()} --org acme`)).stdout, id);
    assert.equal((await run("trust list --org acme")).stdout, "");
    assert.match((await run("org log --org acme")).stdout, /trust add.*\n.*trust remove/);
  });

  it("shows and removes nothing of another organization", async () => {
    const { stdout } = await run("trust add --org other --issuer gitlab --claims namespace_path=a");
    assert.equal((await run("trust list --org acme")).stdout, "");
    const { code, stderr } = await cli(`trust remove ${stdout.trim()} --org acme`);
    assert.equal(code, 1);
    assert.match(stderr, /trusted issuer \d+ is unknown/);
  });

  it("is for one repository, and goes with it", async () => {
    await run("repo create acme/gone --org acme");
    const add =
      "trust add --org acme --issuer https://ci.example/ --claims a=b=c,d=e --repo ACME/gone";
    const record = JSON.parse((await run(`${add} --repository-claim path --json`)).stdout);
    assert.deepEqual([record.issuer, record.claims, record.repository, record.repository_claim], [
      "https://ci.example",
      { a: "b=c", d: "e" },
      "acme/gone",
      "path",
    ]);
    await run("repo delete acme/gone --org acme --yes");
    assert.equal((await run("trust list --org acme")).stdout, "");
  });

  it("refuses what cannot be trusted", async () => {
    for (
      const [options, message] of [
        ["--issuer http://ci.example --claims a=b", /begins with http:\/\/: expected https:\/\//],
        ["--issuer http://127.0.0.1.evil.example --claims a=b", /begins with http/],
        ["--issuer ftp://ci.example --claims a=b", /invalid issuer/],
        ["--issuer https://me:secret@ci.example --claims a=b", /invalid issuer/],
        ["--issuer https://ci.example?x --claims a=b", /invalid issuer/],
        ["--issuer bitbucket --claims a=b", /expected github, gitlab or an address/],
        ["--issuer github --claims repository_owner", /expected NAME=VALUE/],
        ["--issuer github --claims repository_owner=", /expected NAME=VALUE/],
        ["--issuer github --claims a=b,a=c", /claim "a" is given twice/],
        ["--issuer github", /--claims/],
        ["--claims a=b", /--issuer/],
      ] as const
    ) {
      const { code, stderr } = await cli(`trust add --org acme ${options}`);
      assert.equal(code, 2, options);
      assert.match(stderr, message);
    }
    const unknown = await cli("trust add --org acme --issuer github --claims a=b --repo acme/none");
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /repository "acme\/none" is unknown/);
    for (const host of ["localhost", "127.0.0.1:8080", "[::1]"]) {
      await run(`trust add --org acme --issuer http://${host} --claims a=b`);
    }
  });

  it("takes a file of public keys only", async () => {
    const file = await Deno.makeTempFile();
    const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true });
    const own = await exportJWK(privateKey);
    for (
      const [content, message] of [
        [JSON.stringify({ keys: [own] }), /private or secret key/],
        [JSON.stringify({ keys: [{ kty: "oct", k: "c2VjcmV0" }] }), /private or secret key/],
        [JSON.stringify({ keys: [] }), /no key for RS256 or ES256/],
        ["{}", /no JSON Web Key Set/],
        ["-----BEGIN PUBLIC KEY-----", /no JSON Web Key Set/],
      ] as const
    ) {
      await Deno.writeTextFile(file, content);
      const { code, stderr } = await cli(
        `trust add --org acme --issuer https://keys.example --claims a=b --keys ${file}`,
      );
      assert.notEqual(code, 0);
      assert.match(stderr, message);
      assert.ok(!stderr.includes(own.d!));
    }
    await Deno.writeTextFile(file, JSON.stringify({ keys: [await exportJWK(publicKey)] }));
    const record = JSON.parse(
      (await run(
        `trust add --org acme --issuer https://keys.example --claims a=b --keys ${file} --json`,
      )).stdout,
    );
    assert.equal(record.has_keys, true);
    await Deno.remove(file);
    const { code, stderr } = await cli(
      `trust add --org acme --issuer https://keys.example --claims a=b --keys ${file}`,
    );
    assert.equal(code, 1);
    assert.match(stderr, /--keys: /);
  });
});
