import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../../tools/packages.ts";

const ADVISORY = {
  id: 1,
  url: "https://github.com/advisories/GHSA-0000-0000-0000",
  title: "Bad",
  severity: "high",
  vulnerable_versions: "<9",
  cwe: [],
  cvss: { score: 0, vectorString: null },
};

async function audit(registry: string, ...args: string[]) {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-config", join(ROOT, "tools/audit.ts"), ...args],
    env: { NPM_CONFIG_REGISTRY: registry, NO_COLOR: "1" },
  }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { code, out: out!, err: err! };
}

/** Runs the audit against a registry that gives this response. */
async function auditWith(respond: () => Response, ...args: string[]) {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, respond);
  try {
    return await audit(`http://127.0.0.1:${server.addr.port}/`, ...args);
  } finally {
    await server.shutdown();
  }
}

describe("the audit of packages", () => {
  it("passes when nothing is known, and fails for a vulnerability", async () => {
    const clean = await auditWith(() => Response.json({}));
    assert.deepEqual([clean.code, clean.err], [0, ""], clean.out);
    const bad = await auditWith(() => Response.json({ yaml: [ADVISORY] }));
    assert.equal(bad.code, 1);
    assert.match(bad.out, /Package: +yaml/);
  });

  for (const [name, status] of [["an error", 500], ["a page", 200], ["a refusal", 403]] as const) {
    it(`fails when the registry responds with ${name}`, async () => {
      const { code, err } = await auditWith(() => new Response("<html>", { status }));
      assert.equal(code, 1);
      assert.doesNotMatch(err, /NOT AUDITED/);
    });
  }

  it("says so when the registry has no audit, and fails if it is required", async () => {
    const respond = () => new Response(null, { status: 405 });
    const { code, err } = await auditWith(respond);
    assert.equal(code, 0);
    assert.equal(err.match(/^NOT AUDITED: .*deno\.lock: /gm)?.length, 2, err);
    assert.equal((await auditWith(respond, "--required")).code, 1);
  });

  it("says so when the registry cannot be reached, and fails if it is required", async () => {
    const { code, err } = await audit("http://127.0.0.1:1/");
    assert.equal(code, 0);
    assert.equal(err.match(/^NOT AUDITED: /gm)?.length, 2, err);
    assert.equal((await audit("http://127.0.0.1:1/", "--required")).code, 1);
  });
});
