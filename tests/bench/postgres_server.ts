/** A throw-away PostgreSQL server, so that nothing else is measured or harmed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import postgres from "postgres";

/** A server that runs until it is stopped. */
export interface PostgresServer {
  /** Address of a database of that server. */
  url(database: string): string;
  /** Creates an empty database and returns its address. */
  createDatabase(database: string): Promise<string>;
  stop(): Promise<void>;
}

/**
 * Starts a server of the newest PostgreSQL that Debian's packages installed, on any free port.
 *
 * @throws {Error} when none is installed or it does not start
 */
export async function startPostgres(
  settings: Record<string, string> = {},
): Promise<PostgresServer> {
  const programs = await newestPrograms();
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-bench-" });
  const asServer = process.getuid?.() === 0 ? ["runuser", "-u", "postgres", "--"] : [];
  if (asServer.length > 0) await run(["chown", "postgres", folder]);
  const data = `${folder}/data`;
  await run([
    ...asServer,
    `${programs}/initdb`,
    `--pgdata=${data}`,
    "--username=postgres",
    "--auth=trust",
    "--encoding=UTF8",
    "--locale=C",
    "--no-sync",
  ]);
  const port = freePort();
  const options = { port: String(port), listen_addresses: "127.0.0.1", ...settings };
  const server = spawn(asServer[0] ?? `${programs}/postgres`, [
    ...asServer.slice(1),
    ...asServer.length > 0 ? [`${programs}/postgres`] : [],
    "-D",
    data,
    "-k",
    folder,
    ...Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]),
  ], { cwd: folder, stdio: "ignore" });
  const url = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  await untilReady(url("postgres"));
  return {
    url,
    async createDatabase(database) {
      const sql = postgres(url("postgres"), { max: 1 });
      await sql`create database ${sql(database)}`;
      await sql.end();
      return url(database);
    },
    async stop() {
      const ended = once(server, "exit");
      // The program that changes the user passes the signal on.
      server.kill("SIGINT");
      await ended;
      await Deno.remove(folder, { recursive: true });
    },
  };
}

async function newestPrograms(): Promise<string> {
  const versions: number[] = [];
  try {
    for await (const entry of Deno.readDir("/usr/lib/postgresql")) {
      versions.push(Number(entry.name));
    }
  } catch {
    // Answered below.
  }
  if (versions.length === 0) {
    throw new Error("found no /usr/lib/postgresql: expected Debian's package postgresql");
  }
  return `/usr/lib/postgresql/${Math.max(...versions)}/bin`;
}

function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr as Deno.NetAddr;
  listener.close();
  return port;
}

async function run([command = "", ...args]: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(command, { args, cwd: "/" }).output();
  if (!success) throw new Error(`${command}: ${new TextDecoder().decode(stderr)}`);
}

async function untilReady(url: string): Promise<void> {
  const sql = postgres(url, { max: 1, backoff: 0.1 as unknown as boolean });
  try {
    for (let attempt = 0;; attempt++) {
      try {
        await sql`select 1`;
        return;
      } catch (error) {
        if (attempt > 100) throw error;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }
  } finally {
    await sql.end();
  }
}
