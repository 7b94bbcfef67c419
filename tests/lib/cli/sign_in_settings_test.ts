import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { UsageError } from "../../../lib/base/failure.ts";
import { readSignIn } from "../../../lib/cli/settings.ts";

const COMPLETE = {
  PUBLIC_URL: "https://flaky.example/below/",
  OIDC_ISSUER: "https://login.example/realms/acme",
  OIDC_CLIENT_ID: "test-analytics",
  OIDC_CLIENT_SECRET: "s3cr3t",
  OIDC_ORGANIZATION: "acme",
};

describe("the settings of sign-in", () => {
  it("are off by default", () => {
    assert.equal(readSignIn({}), null);
    assert.equal(readSignIn({ PUBLIC_URL: COMPLETE.PUBLIC_URL, OIDC_CLIENT_ID: " " }), null);
  });

  it("name provider, client and organization", async () => {
    const settings = {
      issuer: COMPLETE.OIDC_ISSUER,
      clientId: "test-analytics",
      clientSecret: "s3cr3t",
      organization: { name: "acme" },
      editors: { groups: [], claim: "groups" },
      publicUrl: "https://flaky.example/below",
    };
    assert.deepEqual(readSignIn(COMPLETE), settings);
    const claim = { OIDC_ORGANIZATION: "", OIDC_ORGANIZATION_CLAIM: "org" };
    assert.deepEqual(readSignIn({ ...COMPLETE, ...claim }), {
      ...settings,
      organization: { claim: "org" },
    });
    const groups = { OIDC_EDITORS: " qa, , leads", OIDC_GROUPS_CLAIM: "roles" };
    assert.deepEqual(readSignIn({ ...COMPLETE, ...groups }), {
      ...settings,
      editors: { groups: ["qa", "leads"], claim: "roles" },
    });
    const file = await Deno.makeTempFile();
    await Deno.writeTextFile(file, "s3cr3t\n");
    const fromFile = { OIDC_CLIENT_SECRET: "", OIDC_CLIENT_SECRET_FILE: file };
    assert.deepEqual(readSignIn({ ...COMPLETE, ...fromFile }), settings);
    await Deno.remove(file);
  });

  it("are refused where one is missing or sign-in would not be safe, and the secret is not quoted", () => {
    for (
      const [changes, message] of [
        [
          { OIDC_ISSUER: "" },
          /OIDC_CLIENT_ID, .*, OIDC_ORGANIZATION: expected OIDC_ISSUER as well/,
        ],
        [{ PUBLIC_URL: "" }, /OIDC_ISSUER: expected PUBLIC_URL as well/],
        [{ PUBLIC_URL: "http://flaky.example" }, /PUBLIC_URL: .* expected https/],
        [{ OIDC_ISSUER: "http://login.example" }, /OIDC_ISSUER: .* expected https/],
        [{ OIDC_ISSUER: "http://127.0.0.1.evil.example" }, /OIDC_ISSUER: .* expected https/],
        [{ OIDC_CLIENT_ID: "" }, /expected OIDC_CLIENT_ID and OIDC_CLIENT_SECRET/],
        [{ OIDC_CLIENT_SECRET: "" }, /expected OIDC_CLIENT_ID and OIDC_CLIENT_SECRET/],
        [{ OIDC_CLIENT_SECRET_FILE: "/" }, /OIDC_CLIENT_SECRET_FILE: expected only one/],
        [{ OIDC_ORGANIZATION: "" }, /expected either OIDC_ORGANIZATION or/],
        [{ OIDC_ORGANIZATION_CLAIM: "org" }, /expected either OIDC_ORGANIZATION or/],
      ] as const
    ) {
      assert.throws(() => readSignIn({ ...COMPLETE, ...changes }), (error) => {
        assert.ok(error instanceof UsageError);
        assert.match(error.message, message);
        return !error.message.includes("s3cr3t");
      });
    }
    readSignIn({ ...COMPLETE, PUBLIC_URL: "http://localhost:8000", OIDC_ISSUER: "http://[::1]:9" });
  });
});
