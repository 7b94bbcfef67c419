// Tests: tests/lib/cli/commands/webhook_test.ts tests/lib/webhook/rules_test.ts
/** Addresses that webhooks may be sent to. */
import { BlockList, isIP, isIPv6 } from "node:net";

const MAX_URL_CHARACTERS = 2_048;

/** Networks that are not the public internet: IANA's registries of special-purpose addresses. */
const SPECIAL = new BlockList();
for (
  const [address, prefix] of [
    ["0.0.0.0", 8],
    ["10.0.0.0", 8],
    ["100.64.0.0", 10],
    ["127.0.0.0", 8],
    ["169.254.0.0", 16],
    ["172.16.0.0", 12],
    ["192.0.0.0", 24],
    ["192.0.2.0", 24],
    ["192.88.99.0", 24],
    ["192.168.0.0", 16],
    ["198.18.0.0", 15],
    ["198.51.100.0", 24],
    ["203.0.113.0", 24],
    ["224.0.0.0", 4],
    ["240.0.0.0", 4],
  ] as const
) SPECIAL.addSubnet(address, prefix, "ipv4");

/** The only public addresses of IPv6, but for the networks in them that lead elsewhere. */
const GLOBAL_IPV6 = new BlockList();
GLOBAL_IPV6.addSubnet("2000::", 3, "ipv6");
const SPECIAL_IPV6 = new BlockList();
for (
  const [address, prefix] of [
    // Protocol assignments, Teredo and ORCHID among them; documentation; 6to4, which contains an IPv4.
    ["2001::", 23],
    ["2001:db8::", 32],
    ["2002::", 16],
    ["3fff::", 20],
  ] as const
) SPECIAL_IPV6.addSubnet(address, prefix, "ipv6");

/** Whether an IP address is of the public internet; also of an IPv4 address that is written as IPv6. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, "");
  if (isIPv6(bare)) {
    return GLOBAL_IPV6.check(bare, "ipv6") && !SPECIAL_IPV6.check(bare, "ipv6");
  }
  return isIP(bare) === 4 && !SPECIAL.check(bare, "ipv4");
}

/**
 * Reads the URL of a webhook. Its path often contains a secret, so errors do not quote it.
 * @throws {SyntaxError} unless it is https, or with `allowPrivate` http, without a user, password and fragment
 */
export function parseWebhookUrl(text: string, { allowPrivate }: { allowPrivate: boolean }): string {
  if (text.length > MAX_URL_CHARACTERS) {
    throw new SyntaxError(
      `${text.length} characters: expected a URL of at most ${MAX_URL_CHARACTERS}`,
    );
  }
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new SyntaxError("expected a URL that begins with https://");
  }
  if (url.username !== "" || url.password !== "") {
    throw new SyntaxError("expected a URL without user and password");
  }
  if (url.hash !== "") throw new SyntaxError("expected a URL without a fragment");
  if (allowPrivate) return url.href;
  if (url.protocol === "http:") {
    throw new SyntaxError("expected https://; http:// requires --allow-private");
  }
  if (isIP(hostOf(url)) !== 0 && !isPublicAddress(hostOf(url))) {
    throw new SyntaxError(
      `${hostOf(url)} is not an address of the public internet: it requires --allow-private`,
    );
  }
  return url.href;
}

/** The host of a URL, an IPv6 address without brackets. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, "$1");
}

/** A URL for lists and logs: its path and query often contain a secret. */
export function maskUrl(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const rest = pathname.slice(1) + search;
  if (rest === "") return origin;
  return `${origin}/...${rest.length >= 16 ? rest.slice(-4) : ""}`;
}
