export interface Address {
  /** Name, IP address, or folder of a Unix socket. */
  host: string;
  port: number;
}

/** Whether a server matches `target_session_attrs`, as libpq defines its values. */
export const TARGET_SESSION_ATTRS = {
  "any": () => true,
  "read-write": ({ isReadOnly }) => !isReadOnly,
  "read-only": ({ isReadOnly }) => isReadOnly,
  "primary": ({ isStandby }) => !isStandby,
  "standby": ({ isStandby }) => isStandby,
  "prefer-standby": ({ isStandby }) => isStandby,
} satisfies Record<string, (role: ServerRole) => boolean>;

export interface ServerRole {
  isStandby: boolean;
  isReadOnly: boolean;
}

export type TargetSessionAttrs = keyof typeof TARGET_SESSION_ATTRS;

/** Settings that a server would refuse: those of libpq in copied URLs, and those that we handle. */
const REMOVED_SETTINGS = [
  "channel_binding",
  "gssencmode",
  "connect_timeout",
  "target_session_attrs",
];

const EXPECTED = "expected postgres://user:password@host:5432/database";

export type DatabaseUrl = ReturnType<typeof readDatabaseUrl>;

/** Parses the URL of a server. @throws {TypeError} without the URL, which has a password */
export function readDatabaseUrl(text: string) {
  if (!/^postgres(ql)?:\/\//i.test(text)) {
    throw new TypeError(`DATABASE_URL is not the URL of a PostgreSQL server; ${EXPECTED}`);
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
  const required = { host: url.hostname, user: url.username, database: url.pathname.slice(1) };
  for (const [part, value] of Object.entries(required)) {
    if (!value) throw new TypeError(`DATABASE_URL names no ${part}; ${EXPECTED}`);
  }
  const targetSessionAttrs = url.searchParams.get("target_session_attrs") ?? "any";
  if (!Object.hasOwn(TARGET_SESSION_ATTRS, targetSessionAttrs)) {
    throw new TypeError(
      `DATABASE_URL has target_session_attrs=${JSON.stringify(targetSessionAttrs)}; ` +
        `expected one of ${Object.keys(TARGET_SESSION_ATTRS).join(", ")}`,
    );
  }
  const timeout = Number(url.searchParams.get("connect_timeout"));
  const query = [...url.searchParams].filter(([name]) => !REMOVED_SETTINGS.includes(name));
  const settings = new URLSearchParams(query).toString();
  return {
    addresses: hosts.split(",").map(address),
    /** The URL for postgres.js, without the settings that we handle. */
    text: text.split("?")[0]! + (settings ? `?${settings}` : ""),
    /** Host and port (several separated by commas), for messages. */
    host: hosts,
    connectTimeoutSeconds: timeout > 0 ? timeout : undefined,
    targetSessionAttrs: targetSessionAttrs as TargetSessionAttrs,
  };
}

function address(text: string): Address {
  const [, host = "", port] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  return {
    host: decodeURIComponent(host.replace(/^\[(.*)\]$/, "$1")),
    port: port ? Number(port) : 5432,
  };
}
