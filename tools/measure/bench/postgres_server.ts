/** A PostgreSQL server of the benchmark's own, so that nothing else is measured or harmed. */
import postgres from "postgres";
import { makeServer, type ServerSettings } from "../../../tests/e2e/postgres.ts";
import { withDatabase } from "../../../tests/database.ts";

/** A server that runs until it is stopped. */
export interface PostgresServer {
  /** Creates an empty database, in the place of another of that name, and returns its address. */
  createDatabase(database: string): Promise<string>;
  /** The same with all that another database holds. */
  copyDatabase(from: string, to: string): Promise<string>;
  /** Address of a database of that server. */
  url(database: string): string;
  stop(): Promise<void>;
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Starts a server of the newest PostgreSQL that Debian's packages installed, on any free port. It
 * writes as safely as one that is relied on.
 *
 * @param options.dataFolder where its data stays for the next time; thrown away without it
 * @throws {Error} when none is installed or it does not start
 */
export async function startPostgres(
  settings: ServerSettings = {},
  options: { dataFolder?: string } = {},
): Promise<PostgresServer> {
  const server = await makeServer({ fsync: "on", ...settings }, options);
  const url = (database: string) => withDatabase(server.url, database);
  // It is not in the process group of the terminal, and would survive Ctrl-C.
  const onInterrupt = async () => {
    await server.remove();
    Deno.exit(130);
  };
  for (const signal of SIGNALS) Deno.addSignalListener(signal, onInterrupt);
  const recreate = async (database: string, template: string) => {
    const sql = postgres(server.url, { max: 1, onnotice: () => {} });
    try {
      await sql`drop database if exists ${sql(database)} with (force)`;
      // Files are copied: through the log, as is usual, a large database takes minutes.
      await sql`create database ${sql(database)} template ${sql(template)} strategy file_copy`;
    } finally {
      await sql.end();
    }
    return url(database);
  };
  return {
    url,
    createDatabase: (database) => recreate(database, "template0"),
    copyDatabase: (from, to) => recreate(to, from),
    async stop() {
      for (const signal of SIGNALS) Deno.removeSignalListener(signal, onInterrupt);
      await server.remove();
    },
  };
}
