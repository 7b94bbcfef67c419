/** Which settings may enable a sign-in header: any client that can send it needs no token. */
import { quote } from "../../base/quote.ts";
import { proxyNetworks } from "./client_address.ts";

/** Prefix lengths of the largest private networks, 10.0.0.0/8 and fc00::/7. */
const MIN_PREFIX = { 4: 8, 6: 7 } as const;
/** IPv4 addresses in IPv6, of which the last 32 bits are the address. */
const MAPPED = /^::ffff:/i;
const MAPPED_BITS = 96;

/** Headers that clients, browsers and proxies send, or that the service reads for something else. */
const OTHER_HEADERS = new RegExp(
  "^(authorization|cookie2?|host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|via|from" +
    "|origin|referer|user-agent|dnt|date|expect|range|pragma|cache-control|forwarded|traceparent" +
    "|tracestate|baggage|x-real-ip|x-request-id|x-requested-with|priority|save-data" +
    "|x-forwarded-(for|host|port|prefix|proto|server)" +
    "|(accept|access-control|content|if|proxy|sec)(-.*)?)$",
  "i",
);

/**
 * What is wrong with the header in which trusted proxies name the organization of a reader, `null` when
 * nothing is.
 *
 * @param proxies valid addresses and networks, separated by commas
 */
export function organizationHeaderProblem(header: string, proxies: string): string | null {
  if (header === "") return null;
  if (OTHER_HEADERS.test(header)) return ownHeader("ORGANIZATION_HEADER", header, "X-Organization");
  const networks = proxyNetworks(proxies);
  if (networks.length === 0) {
    return `ORGANIZATION_HEADER: ${quote(header)} signs readers in without a token, but no proxy ` +
      "is trusted to set it: expected TRUSTED_PROXIES with the addresses of the proxies";
  }
  const wide = networks.find(isWide);
  if (!wide) return null;
  return `TRUSTED_PROXIES: with ORGANIZATION_HEADER all addresses in ${quote(wide.entry)} sign ` +
    "readers in without a token: expected the addresses of the proxies";
}

/** What is wrong with the header in which trusted proxies name the person; `null` when nothing is. */
export function userHeaderProblem(
  header: string,
  organizationHeader: string,
  proxies: string,
): string | null {
  if (header === "") return null;
  if (OTHER_HEADERS.test(header)) return ownHeader("USER_HEADER", header, "X-Forwarded-User");
  if (header.toLowerCase() === organizationHeader.toLowerCase()) {
    return "USER_HEADER: it is ORGANIZATION_HEADER as well: expected a header of its own";
  }
  if (proxyNetworks(proxies).length > 0) return null;
  return `USER_HEADER: no proxy is trusted to set ${
    quote(header)
  }: expected TRUSTED_PROXIES with ` +
    "the addresses of the proxies";
}

function ownHeader(setting: string, header: string, example: string): string {
  return `${setting}: clients send ${
    quote(header)
  } themselves: expected a header of its own, such ` +
    `as ${example}`;
}

function isWide(
  { address, version, prefix }: ReturnType<typeof proxyNetworks>[number],
): boolean {
  if (version === 6 && MAPPED.test(address)) return prefix < MAPPED_BITS + MIN_PREFIX[4];
  return prefix < MIN_PREFIX[version];
}
