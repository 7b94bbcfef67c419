// Tests: tests/db/connection/connect_test.ts tests/lib/cli/database_test.ts
/** Settings that a server would refuse: libpq's in copied URLs, and one that we handle. */
const REMOVED_SETTINGS = [
  "channel_binding",
  "gssencmode",
  "target_session_attrs",
  "connect_timeout",
];

const EXPECTED = "expected postgres://user:password@host:5432/database";

/** Parses the URL of a server. @throws {TypeError} without the URL, which has a password */
export function readDatabaseUrl(text: string) {
  if (!/^postgres(ql)?:\/\//i.test(text)) {
    throw new TypeError(`DATABASE_URL is not the URL of a PostgreSQL server; ${EXPECTED}`);
  }
  let url: URL;
  try {
    url = new URL(text);
    decodeURIComponent(url.username + url.password + url.pathname);
  } catch {
    throw new TypeError(
      `DATABASE_URL cannot be read; ${EXPECTED}, one host, and special characters in the ` +
        `password percent-encoded`,
    );
  }
  const required = { host: url.hostname, user: url.username, database: url.pathname.slice(1) };
  for (const [part, value] of Object.entries(required)) {
    if (!value) throw new TypeError(`DATABASE_URL names no ${part}; ${EXPECTED}`);
  }
  if (url.hostname.includes(",")) {
    throw new TypeError("DATABASE_URL names several hosts; expected one that leads to the primary");
  }
  const timeout = Number(url.searchParams.get("connect_timeout"));
  const query = [...url.searchParams].filter(([name]) => !REMOVED_SETTINGS.includes(name));
  const settings = new URLSearchParams(query).toString();
  return {
    /** The URL for postgres.js, without the settings that we handle. */
    text: text.split("?")[0]! + (settings ? `?${settings}` : ""),
    address: {
      /** Name, IP address, or folder of a Unix socket. */
      host: decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, "$1")),
      port: Number(url.port || 5432),
    },
    /** Host and port, for messages. */
    host: url.host,
    connectTimeoutSeconds: timeout > 0 ? timeout : undefined,
  };
}
