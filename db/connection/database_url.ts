export interface Address {
  /** Name, IP address, or folder of a Unix socket. */
  host: string;
  port: number;
}

export interface DatabaseUrl {
  addresses: Address[];
  /** The URL for postgres.js, without the settings that we handle. */
  text: string;
  /** Host and port (several separated by commas), for messages. */
  host: string;
  user: string;
  database: string;
  /** `connect_timeout` of the URL. */
  connectTimeoutSeconds: number | undefined;
  targetSessionAttrs: TargetSessionAttrs;
}

/** Values of `target_session_attrs`, as libpq defines them. */
export type TargetSessionAttrs = typeof TARGET_SESSION_ATTRS[number];

const TARGET_SESSION_ATTRS = [
  "any",
  "read-write",
  "read-only",
  "primary",
  "standby",
  "prefer-standby",
] as const;

/** Settings that a server would refuse: those of libpq in copied URLs, and those that we handle. */
const REMOVED_SETTINGS = [
  "channel_binding",
  "gssencmode",
  "connect_timeout",
  "target_session_attrs",
];

const EXPECTED = "expected postgres://user:password@host:5432/database";

/** Parses the URL of a server. @throws {TypeError} without the URL, which has a password */
export function readDatabaseUrl(text: string): DatabaseUrl {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase();
  if (scheme !== "postgres" && scheme !== "postgresql") {
    throw new TypeError(
      scheme
        ? `DATABASE_URL begins with ${JSON.stringify(scheme + "://")}; ${EXPECTED}`
        : `DATABASE_URL is not a URL; ${EXPECTED}`,
    );
  }
  const authority = text.slice(text.indexOf("://") + 3).split(/[/?#]/)[0]!;
  const hosts = authority.slice(authority.lastIndexOf("@") + 1);
  let url: URL;
  try {
    // `URL` does not accept a list of hosts.
    url = new URL(text.replace(hosts, hosts.split(",")[0]!));
    decodeURIComponent(url.username + url.password + url.pathname);
  } catch {
    throw new TypeError(
      `DATABASE_URL cannot be read; ${EXPECTED}, with special characters in the password ` +
        `percent-encoded`,
    );
  }
  if (!url.hostname) throw new TypeError(`DATABASE_URL names no host; ${EXPECTED}`);
  const user = decodeURIComponent(url.username);
  const database = decodeURIComponent(url.pathname.slice(1));
  if (!user) throw new TypeError(`DATABASE_URL names no user; ${EXPECTED}`);
  if (!database) throw new TypeError(`DATABASE_URL names no database; ${EXPECTED}`);
  const timeout = Number(url.searchParams.get("connect_timeout"));
  const query = [...url.searchParams].filter(([name]) => !REMOVED_SETTINGS.includes(name));
  const settings = new URLSearchParams(query).toString();
  return {
    addresses: hosts.split(",").map(address),
    text: text.split("?")[0]! + (settings ? `?${settings}` : ""),
    host: hosts,
    user,
    database,
    connectTimeoutSeconds: timeout > 0 ? timeout : undefined,
    targetSessionAttrs: targetSessionAttrs(url.searchParams.get("target_session_attrs")),
  };
}

function targetSessionAttrs(text: string | null): TargetSessionAttrs {
  const found = TARGET_SESSION_ATTRS.find((name) => name === (text ?? "any"));
  if (found) return found;
  throw new TypeError(
    `DATABASE_URL has target_session_attrs=${JSON.stringify(text)}; ` +
      `expected one of ${TARGET_SESSION_ATTRS.join(", ")}`,
  );
}

function address(text: string): Address {
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  return {
    host: decodeURIComponent(host.replace(/^\[(.*)\]$/, "$1")),
    port: port ? Number(port) : 5432,
  };
}
