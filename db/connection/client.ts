import process from "node:process";
import postgres from "postgres";

/** Options of postgres.js, with those that its types lack. */
export type ClientOptions = postgres.Options<Record<never, never>> & {
  /** Makes the sockets; `ssl` says whether TLS will be put on top. */
  socket?: (options: { ssl: unknown }) => unknown;
};

/**
 * Creates a postgres.js client.
 *
 * The PG* variables of the environment are hidden from it: it reads them even when a complete URL is
 * given. Types are not fetched, which costs a statement for every connection.
 */
export function createClient(url: string, options: ClientOptions): postgres.Sql {
  const hidden = Object.entries(process.env).filter(([name]) => name.startsWith("PG"));
  for (const [name] of hidden) delete process.env[name];
  try {
    return postgres(url, { fetch_types: false, onnotice: () => {}, ...options });
  } finally {
    for (const [name, value] of hidden) process.env[name] = value;
  }
}
