import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { clientAddress, parseTrustedProxies } from "../../../../lib/http/request/client_address.ts";

describe("the address of a client", () => {
  const trusted = parseTrustedProxies("10.0.0.0/8, 192.0.2.7,fd00::/8")!;
  const of = (peer: string, forwardedFor: string | null) =>
    clientAddress(peer, forwardedFor, trusted);

  it("is the peer's unless that is a trusted proxy", () => {
    assert.equal(of("203.0.113.9", "198.51.100.1"), "203.0.113.9");
    assert.equal(of("::ffff:203.0.113.9", "198.51.100.1"), "203.0.113.9");
    assert.equal(of("10.0.0.1", null), "10.0.0.1");
  });

  it("is the last forwarded one that is not a trusted proxy", () => {
    assert.equal(of("10.0.0.1", "198.51.100.1"), "198.51.100.1");
    assert.equal(of("fd00::1", "198.51.100.1, 192.0.2.7"), "198.51.100.1");
    assert.equal(of("::ffff:10.0.0.1", "1.1.1.1, 198.51.100.1:4711"), "198.51.100.1");
    assert.equal(of("10.0.0.1", "[2001:db8::1]:80, 10.9.9.9"), "2001:db8::1");
    assert.equal(of("10.0.0.1", "10.0.0.2"), "10.0.0.2");
  });

  it("is always an IP address", () => {
    assert.equal(of("10.0.0.1", "198.51.100.1, unknown"), "10.0.0.1");
    assert.equal(of("10.0.0.1", ""), "10.0.0.1");
  });

  it("rejects invalid proxies", () => {
    assert.equal(parseTrustedProxies(" "), null);
    for (const wrong of ["proxy", "10.0.0.0/33", "::1/129", "10.0.0.0/x", "1.1.1.1/8/8"]) {
      assert.throws(() => parseTrustedProxies(`127.0.0.1,${wrong}`), {
        name: "SyntaxError",
        message: `invalid proxy "${wrong}": expected an address or a network such as 10.0.0.0/8`,
      });
    }
  });
});
