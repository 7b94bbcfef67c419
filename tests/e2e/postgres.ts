/** PostgreSQL servers of a test's own, which may be stopped, started and promoted as it likes. */
import process from "node:process";
import { openDatabase } from "../../db/connection/connect.ts";
import { migrate } from "../../db/schema/migrate.ts";

const PROGRAMS = "/usr/lib/postgresql";

/** A server that is there until it is removed. */
export interface OwnServer {
  /** Address of its first database. */
  url: string;
  port: number;
  /** Returns when it lets clients in. */
  start(): Promise<void>;
  /** `fast` cuts off clients in an orderly way, `immediate` as a crash does. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** Makes a primary of a standby; returns when it takes writes. */
  promote(): Promise<void>;
  /** Stops it and removes all that it has. */
  remove(): Promise<void>;
}

/** Settings of a server, by name. */
export type ServerSettings = Record<string, string>;

/** Folder of the newest server that Debian's packages installed; `null` when there is none. */
export function installedServer(): string | null {
  try {
    const versions = [...Deno.readDirSync(PROGRAMS)].map(({ name }) => Number(name));
    return versions.length === 0 ? null : `${PROGRAMS}/${Math.max(...versions)}/bin`;
  } catch {
    return null;
  }
}

/** Starts a server whose database has the program's schema. */
export async function makeOwnServer(settings: ServerSettings = {}): Promise<OwnServer> {
  const server = await makeServer(settings);
  try {
    const database = await openDatabase({ databaseUrl: server.url, dataDir: "" });
    await migrate(database.sql);
    await database.close();
    return server;
  } catch (error) {
    await server.remove();
    throw error;
  }
}

/**
 * Starts a server whose database is empty.
 *
 * @param options.dataFolder where its data stays after it was removed, for the next server
 */
export function makeServer(
  settings: ServerSettings = {},
  { dataFolder }: { dataFolder?: string } = {},
): Promise<OwnServer> {
  return fill("initdb", settings, {
    dataFolder,
    args: ["--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
  });
}

/** Starts a standby that follows a primary by streaming. */
export function makeStandby(primary: OwnServer, settings: ServerSettings = {}): Promise<OwnServer> {
  return fill("pg_basebackup", settings, {
    args: [
      `--dbname=${primary.url}`,
      "--checkpoint=fast",
      "--write-recovery-conf",
      "--no-sync",
    ],
  });
}

/** Starts a server on the data that one of PostgreSQL's programs puts into a new folder. */
async function fill(
  program: "initdb" | "pg_basebackup",
  settings: ServerSettings,
  { args, dataFolder }: { args: string[]; dataFolder?: string },
): Promise<OwnServer> {
  const bin = installedServer();
  if (bin === null) throw new Error(`there is no PostgreSQL in ${PROGRAMS}`);
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-own-server-" });
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (dataFolder) {
    await Deno.mkdir(dataFolder, { recursive: true });
    await Deno.chmod(dataFolder, 0o700);
  }
  if (isRoot) await run("/", ["chown", "postgres", folder, ...dataFolder ? [dataFolder] : []]);
  const as = (...command: string[]) =>
    run(folder, isRoot ? ["runuser", "-u", "postgres", "--", ...command] : command);
  const data = dataFolder ?? `${folder}/data`;
  const port = freePort();
  const options = Object.entries({ listen_addresses: "127.0.0.1", fsync: "off", ...settings })
    .map(([name, value]) => `-c ${name}='${value}'`);
  const pgCtl = (...args: string[]) =>
    as(`${bin}/pg_ctl`, "--silent", "--wait", `--pgdata=${data}`, ...args);
  let isRunning = false;
  const server: OwnServer = {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    port,
    async start() {
      await pgCtl(
        "start",
        `--log=${data}/log`,
        `--options=-p ${port} -k ${folder} ${options.join(" ")}`,
      );
      isRunning = true;
    },
    async stop(mode) {
      await pgCtl("stop", `--mode=${mode}`);
      isRunning = false;
    },
    promote: () => pgCtl("promote"),
    async remove() {
      if (isRunning) await server.stop(dataFolder ? "fast" : "immediate");
      await Deno.remove(folder, { recursive: true });
    },
  };
  try {
    if (!dataFolder || !await isFilled(dataFolder)) {
      await as(`${bin}/${program}`, `--pgdata=${data}`, ...args);
    }
    await server.start();
    return server;
  } catch (error) {
    await server.remove();
    throw error;
  }
}

async function isFilled(dataFolder: string): Promise<boolean> {
  for await (const _entry of Deno.readDir(dataFolder)) return true;
  return false;
}

/** A port that nobody listens on at the moment. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

async function run(cwd: string, [file = "", ...args]: string[]): Promise<void> {
  // The server keeps what it is given open: nobody may wait for the end of a pipe.
  const { success, code } = await new Deno.Command(file, {
    args,
    cwd,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Error(`${file} ${args.join(" ")} ended with ${code}`);
}
