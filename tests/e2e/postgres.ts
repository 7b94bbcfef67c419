/** PostgreSQL servers for single tests, which can be stopped, started and promoted. */
import process from "node:process";
import { openDatabase } from "../../db/connection/connect.ts";
import { migrate } from "../../db/schema/migrate.ts";

const PROGRAMS = "/usr/lib/postgresql";

/** Environment variable with the program folder of another version, from which servers are started. */
export const POSTGRES_BIN = "TEST_POSTGRES_BIN";

/** A server that exists until it is removed. */
export interface OwnServer {
  /** Address of its first database. */
  url: string;
  port: number;
  /** Its first process, the parent of the others. */
  pid(): Promise<number>;
  /** Resolves when it accepts clients. */
  start(): Promise<void>;
  /** `fast` disconnects clients in an orderly way, `immediate` like a crash. */
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** Promotes a standby; resolves when it accepts writes. */
  promote(): Promise<void>;
  /** Stops it and removes its files. */
  remove(): Promise<void>;
}

/** Settings of a server, by name. */
export type ServerSettings = Record<string, string>;

/** Program folder of the newest installed server of Debian's packages; `null` for none. */
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
 * @param options.dataFolder keeps the data after `remove`, for the next server
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

/** Starts a server on data that `initdb` or `pg_basebackup` creates. */
async function fill(
  program: "initdb" | "pg_basebackup",
  settings: ServerSettings,
  { args, dataFolder }: { args: string[]; dataFolder?: string },
): Promise<OwnServer> {
  const bin = process.env[POSTGRES_BIN] || installedServer();
  if (bin === null) throw new Error(`expected PostgreSQL in ${PROGRAMS}`);
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-own-server-" });
  // PostgreSQL refuses to run as root.
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
    pid: async () => parseInt(await Deno.readTextFile(`${data}/postmaster.pid`)),
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

/** A free port. */
export function freePort(): number {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port } = listener.addr;
  listener.close();
  return port;
}

async function run(cwd: string, [file = "", ...args]: string[]): Promise<void> {
  // The server inherits the streams and keeps them open: a pipe would never end.
  const { success, code } = await new Deno.Command(file, {
    args,
    cwd,
    stdin: "null",
    stdout: "null",
    stderr: "null",
  }).output();
  if (!success) throw new Error(`${file} ${args.join(" ")} ended with ${code}`);
}
