import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { exportJWK, generateKeyPair } from "jose";
import { describeWithDatabase } from "../../../database.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabase("trust", (database) => {
  const cli = commandLine(database);
  const run = async (line: string | string[]) => {
    const { code, stdout, stderr } = await cli(line);
    assert.equal(code, 0, stderr);
    return { stdout, stderr };
  };

  before(async () => {
    await run("org create acme");
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
