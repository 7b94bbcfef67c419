/** A throw-away PostgreSQL server, so that nothing else is measured or harmed. */
import postgres from "postgres";
import { makeServer, type ServerSettings } from "../e2e/postgres.ts";
import { withDatabase } from "../database.ts";

/** A server that runs until it is stopped. */
export interface PostgresServer {
  /** Address of a database of that server. */
  url(database: string): string;
  /** Creates an empty database and returns its address. */
  createDatabase(database: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts a server of the newest PostgreSQL that Debian's packages installed, on any free port. It
 * writes as safely as one that is relied on.
 *
 * @throws {Error} when none is installed or it does not start
 */
export async function startPostgres(settings: ServerSettings = {}): Promise<PostgresServer> {
  const server = await makeServer({ fsync: "on", ...settings });
  const url = (database: string) => withDatabase(server.url, database);
  // It does not belong to the terminal, and would survive whoever gives up in front of one.
  const onInterrupt = async () => {
    await server.remove();
    Deno.exit(130);
  };
  Deno.addSignalListener("SIGINT", onInterrupt);
  return {
    url,
    async createDatabase(database) {
      const sql = postgres(server.url, { max: 1 });
      await sql`create database ${sql(database)}`;
      await sql.end();
      return url(database);
    },
    async stop() {
      Deno.removeSignalListener("SIGINT", onInterrupt);
      await server.remove();
    },
  };
}
