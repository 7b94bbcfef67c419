/** PgBouncer in front of a PostgreSQL server, for single tests. */
import process from "node:process";
import { freePort } from "./postgres.ts";
import { waitUntil } from "../wait_until.ts";

/** Debian's package installs it outside of `PATH`; `TEST_PGBOUNCER` names another build. */
const PROGRAM = Deno.env.get("TEST_PGBOUNCER") ?? "/usr/sbin/pgbouncer";

/** A running PgBouncer. */
export interface PgBouncer {
  /** The given database through it. */
  url: string;
  stop(): Promise<void>;
}

/** Whether PgBouncer is installed. */
export function hasPgBouncer(): boolean {
  try {
    return Deno.statSync(PROGRAM).isFile;
  } catch {
    return false;
  }
}

/**
 * Starts PgBouncer in front of a database, without a password of its own.
 *
 * @param settings of its configuration file, such as `pool_mode`
 */
export async function startPgBouncer(
  databaseUrl: string,
  settings: Record<string, string | number>,
): Promise<PgBouncer> {
  const target = new URL(databaseUrl);
  const database = target.pathname.slice(1);
  const port = freePort();
  const folder = await Deno.makeTempDir({ prefix: "test-analytics-pgbouncer-" });
  const server = {
    host: target.hostname,
    port: target.port,
    user: target.username,
    ...target.password && { password: decodeURIComponent(target.password) },
  };
  const lines = (values: object, separator: string) =>
    Object.entries(values).map(([name, value]) => `${name}=${value}`).join(separator);
  const configuration = {
    listen_addr: "127.0.0.1",
    listen_port: port,
    unix_socket_dir: "",
    auth_type: "any",
    ...settings,
  };
  await Deno.writeTextFile(
    `${folder}/pgbouncer.ini`,
    `[databases]\n${database} = ${lines(server, " ")}\n[pgbouncer]\n${
      lines(configuration, "\n")
    }\n`,
    { mode: 0o600 },
  );
  // It refuses to run as root.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) {
    const { success } = await new Deno.Command("chown", { args: ["-R", "postgres", folder] })
      .output();
    if (!success) throw new Error(`expected a user "postgres", to run PgBouncer as`);
  }
  const line = [PROGRAM, "--quiet", `${folder}/pgbouncer.ini`];
  const [file = "", ...args] = isRoot
    ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", ...line]
    : line;
  const child = new Deno.Command(file, { args, stdin: "null", stdout: "null", stderr: "piped" })
    .spawn();
  const stderr = new Response(child.stderr).text();
  let isOver = false;
  const ending = child.status.then(() => isOver = true);
  const stop = async () => {
    if (!isOver) child.kill("SIGKILL");
    await ending;
    await stderr;
    await Deno.remove(folder, { recursive: true });
  };
  await waitUntil("PgBouncer listens, or has ended", async () => isOver || await isListening(port));
  if (isOver) {
    await stop();
    throw new Error(`PgBouncer ended: ${await stderr}`);
  }
  const url = `postgres://${target.username}@127.0.0.1:${port}/${database}`;
  return { url, stop };
}

async function isListening(port: number): Promise<boolean> {
  try {
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  } catch {
    return false;
  }
}
