/** The address of a client, for the log and for the limit of wrong tokens. */
import { BlockList, isIP } from "node:net";
import { quote } from "../../base/quote.ts";

/** Parses addresses and networks (CIDR) of proxies, separated by commas. @throws {SyntaxError} */
export function parseTrustedProxies(text: string): BlockList | null {
  const networks = proxyNetworks(text);
  if (networks.length === 0) return null;
  const list = new BlockList();
  for (const { address, version, prefix } of networks) {
    list.addSubnet(address, prefix, version === 6 ? "ipv6" : "ipv4");
  }
  return list;
}

/** The entries of a list of proxies. @throws {SyntaxError} */
export function proxyNetworks(
  text: string,
): { entry: string; address: string; version: 4 | 6; prefix: number }[] {
  const entries = text.split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
  return entries.map((entry) => {
    const [, address = "", bits] = /^([^/]*)(?:\/(\d{1,3}))?$/.exec(entry) ?? [];
    const version = isIP(address);
    const maxBits = version === 6 ? 128 : 32;
    const prefix = Number(bits ?? maxBits);
    if (version !== 4 && version !== 6 || prefix > maxBits) {
      const expected = "expected an address or a network such as 10.0.0.0/8";
      throw new SyntaxError(`invalid proxy ${quote(entry)}: ${expected}`);
    }
    return { entry, address, version, prefix };
  });
}

/**
 * The peer's address. If the peer is a trusted proxy: the last address of `X-Forwarded-For` that is
 * not a trusted proxy. Earlier entries were sent by the client and may be forged.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: BlockList,
): string {
  let address = plainAddress(peer);
  if (forwardedFor === null) return address;
  for (const entry of forwardedFor.split(",").reverse()) {
    if (!isTrusted(trusted, address)) return address;
    const forwarded = plainAddress(entry.trim());
    if (isIP(forwarded) === 0) return address;
    address = forwarded;
  }
  return address;
}

/** Without a port, brackets, and the IPv6 form of an IPv4 address. */
function plainAddress(text: string): string {
  return text.replace(/^\[([^\]]*)\](?::\d+)?$/, "$1").replace(/^([\d.]+):\d+$/, "$1")
    .replace(/^::ffff:(?=[\d.]+$)/i, "");
}

export function isTrusted(trusted: BlockList, peer: string): boolean {
  const address = plainAddress(peer);
  const version = isIP(address);
  return version !== 0 && trusted.check(address, version === 6 ? "ipv6" : "ipv4");
}
