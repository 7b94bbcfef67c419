import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  organizationHeaderProblem,
  userHeaderProblem,
} from "../../../../lib/http/request/organization_header.ts";
import { withoutDatabase } from "../../cli/run_in_process.ts";

describe("the header that signs readers in", () => {
  it("is off unless it is named, whatever proxies there are", () => {
    for (const proxies of ["", "127.0.0.1", "0.0.0.0/0"]) {
      assert.equal(organizationHeaderProblem("", proxies), null);
    }
  });

  it("is taken from proxies that are named", () => {
    for (
      const proxies of ["127.0.0.1", "10.0.0.0/8, fc00::/7", "172.16.0.0/12,::1", "::ffff:10.0.0.1"]
    ) {
      for (const header of ["X-Organization", "x_org", "X-Forwarded-Groups", "Organization"]) {
        assert.equal(organizationHeaderProblem(header, proxies), null, `${header} ${proxies}`);
      }
    }
  });

  it("needs trusted proxies", () => {
    for (const proxies of ["", " , "]) {
      assert.match(
        organizationHeaderProblem("X-Organization", proxies) ?? "",
        /^ORGANIZATION_HEADER: "X-Organization" .*: expected TRUSTED_PROXIES with the addresses/,
      );
    }
  });

  it("is not taken from everywhere, or half of it", () => {
    for (
      const wide of ["0.0.0.0/0", "::/0", "0.0.0.0/1", "128.0.0.0/1", "8000::/1", "::ffff:0:0/96"]
    ) {
      assert.match(
        organizationHeaderProblem("X-Organization", `127.0.0.1, ${wide}`) ?? "",
        new RegExp(`^TRUSTED_PROXIES: .* in "${wide}" sign readers in without a token: expected`),
      );
    }
  });

  it("is ignored if clients send it themselves", () => {
    const headers =
      "Authorization AUTHORIZATION Proxy-Authorization Cookie Host User-Agent Accept " +
      "Accept-Language X-Forwarded-For X-Forwarded-Host Forwarded Referer Origin If-None-Match " +
      "Content-Type Sec-Fetch-Site X-Request-Id traceparent Connection";
    for (const header of headers.split(" ")) {
      assert.match(
        organizationHeaderProblem(header, "127.0.0.1") ?? "",
        /^ORGANIZATION_HEADER: clients send ".*" themselves: expected a header of its own/,
      );
    }
  });

  it("has a second one for the name of the person, with the same rules", async () => {
    assert.equal(userHeaderProblem("", "", ""), null);
    assert.equal(userHeaderProblem("X-Forwarded-User", "X-Organization", "127.0.0.1"), null);
    for (
      const [user, organization, proxies, message] of [
        ["Cookie", "", "127.0.0.1", /^USER_HEADER: clients send "Cookie" themselves/],
        ["X-Forwarded-User", "", "", /^USER_HEADER: no proxy is trusted/],
        ["x-name", "X-Name", "127.0.0.1", /^USER_HEADER: it is ORGANIZATION_HEADER as well/],
      ] as const
    ) assert.match(userHeaderProblem(user, organization, proxies) ?? "", message);
    const environment = { USER_HEADER: "X-Forwarded-User" };
    const { code, stderr } = await withoutDatabase("serve --check", { environment });
    assert.equal(code, 2);
    assert.match(stderr, /no proxy is trusted to set "X-Forwarded-User"/);
  });

  for (const line of ["serve --check", "serve", "up"]) {
    it(`is checked by ${line}, before anything is opened`, async () => {
      const environment = { ORGANIZATION_HEADER: "X-Organization" };
      const alone = await withoutDatabase(line, { environment });
      assert.equal(alone.code, 2);
      assert.match(alone.stderr, /expected TRUSTED_PROXIES with the addresses of the proxies/);
      const wide = await withoutDatabase(`${line} --trusted-proxies ::/0`, { environment });
      assert.equal(wide.code, 2);
      assert.match(wide.stderr, /TRUSTED_PROXIES: .* all addresses in "::\/0"/);
      const header = ["--trusted-proxies", "127.0.0.1", "--organization-header", "authorization"];
      const own = await withoutDatabase([...line.split(" "), ...header]);
      assert.equal(own.code, 2);
      assert.match(own.stderr, /clients send "authorization" themselves/);
    });
  }
});
