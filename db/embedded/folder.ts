// Tests: tests/lib/cli/commands/backup_test.ts tests/lib/cli/commands/doctor_test.ts
import { open, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { errorMessage } from "../../lib/base/error.ts";
import { exists } from "../../lib/system/files.ts";

/** Longest path of a Unix socket: 107 bytes on Linux, 103 on macOS. Some systems truncate silently. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Major version of the embedded PostgreSQL, which only opens files of the same version. */
const MAJOR_VERSION = "18";

/** Prefix of folders in which a database is being created. */
const UNFINISHED = "unfinished-";

export type EmbeddedFolder = Awaited<ReturnType<typeof openFolder>>;

/**
 * Paths of the embedded database, in a folder of its own inside the data folder. It is created,
 * readable by its owner only. @throws {Error}
 */
export async function openFolder(dataDir: string) {
  const folder = join(dataDir, "postgres");
  try {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    await Deno.chmod(folder, 0o700);
  } catch (error) {
    throw new Error(
      `data folder ${JSON.stringify(dataDir)} cannot be used: ${errorMessage(error)}; ` +
        `expected a folder that may be written to (DATA_DIR)`,
      { cause: error },
    );
  }
  const path = await Deno.realPath(folder);
  return {
    path,
    /** The database files. */
    data: join(path, "data"),
    /** Locked by the process that has the database open. */
    lock: join(path, "lock"),
    /** The socket, or a symbolic link to it when this path is too long for a socket. */
    socket: join(path, "socket"),
  };
}

/** Inspects the embedded database of a data folder without opening it. */
export async function inspectEmbedded(dataDir: string) {
  const path = join(dataDir, "postgres");
  return {
    path,
    /** False until it is created. */
    exists: await exists(join(path, "data", "PG_VERSION")).catch(() => false),
    isInUse: await isLocked(join(path, "lock")),
  };
}

async function isLocked(path: string): Promise<boolean> {
  using file = await Deno.open(path, { write: true }).catch(() => null);
  // Closing the file releases the lock if it was acquired.
  return file !== null && !await file.tryLock(true);
}

/**
 * Acquires the exclusive lock, or returns undefined. The kernel releases it when the process ends,
 * so it is never stale.
 */
export async function tryLock(folder: EmbeddedFolder): Promise<Deno.FsFile | undefined> {
  const file = await Deno.open(folder.lock, { create: true, write: true, mode: 0o600 });
  if (await file.tryLock(true)) return file;
  file.close();
  return undefined;
}

/**
 * Creates the database files with `create` when missing; requires the lock.
 * @throws {Error} when the files are not a database of this version
 */
export async function ensureData(
  folder: EmbeddedFolder,
  create: (path: string) => Promise<void>,
): Promise<void> {
  for await (const entry of Deno.readDir(folder.path)) {
    if (entry.name.startsWith(UNFINISHED)) {
      await Deno.remove(join(folder.path, entry.name), { recursive: true });
    }
  }
  if (await exists(folder.data)) return await checkVersion(folder);
  // A process killed during creation leaves files that cannot be opened, so only complete ones get
  // the final name.
  const unfinished = join(folder.path, `${UNFINISHED}${process.pid}`);
  try {
    await create(unfinished);
    await makePrivate(unfinished);
    await Deno.rename(unfinished, folder.data);
    await sync(folder.path);
    await sync(dirname(folder.path));
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    throw error;
  }
}

/** Caches of the catalog, which PostgreSQL writes with the process's umask when it starts. */
const CACHES = ["global/pg_internal.init", "base/5/pg_internal.init"];

/** Makes the files that opening a database creates readable by their owner alone. */
export async function makeCachesPrivate(folder: EmbeddedFolder): Promise<void> {
  for (const cache of CACHES) {
    await Deno.chmod(join(folder.data, cache), 0o600).catch(() => {});
  }
}

/**
 * Makes files readable by their owner alone, because PGlite creates them readable by all, and flushes
 * them to disk: 1,000 files in a second.
 */
async function makePrivate(path: string, isFolder = true): Promise<void> {
  await Deno.chmod(path, isFolder ? 0o700 : 0o600);
  if (isFolder) {
    const entries = await Array.fromAsync(Deno.readDir(path));
    await Promise.all(entries.map((one) => makePrivate(join(path, one.name), one.isDirectory)));
  }
  await sync(path);
}

/** Syncs a file or folder to disk. @returns its size, 0 for a folder */
export async function sync(path: string): Promise<number> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
    const stat = await handle.stat();
    return stat.isFile() ? stat.size : 0;
  } finally {
    await handle.close();
  }
}

async function checkVersion({ data }: EmbeddedFolder): Promise<void> {
  const version = await Deno.readTextFile(join(data, "PG_VERSION")).catch(() => "");
  if (version.trim() === MAJOR_VERSION) return;
  throw new Error(
    `${JSON.stringify(data)} is not a database of PostgreSQL ${MAJOR_VERSION}: ` +
      "expected an empty data folder or one created by this program",
  );
}

/** Path to listen on, after removing what an earlier process left. Requires the lock. */
export async function claimSocket(folder: EmbeddedFolder): Promise<string> {
  await removeSocket(folder);
  if (new TextEncoder().encode(folder.socket).length <= MAX_SOCKET_PATH_BYTES) return folder.socket;
  // A new folder with an unpredictable name; other processes find it through the link.
  const short = await Deno.makeTempDir({
    dir: process.env.XDG_RUNTIME_DIR || "/tmp",
    prefix: "test-analytics-",
  });
  const socket = join(short, "socket");
  await Deno.symlink(socket, folder.socket);
  return socket;
}

/** Removes the socket, its link, and the folder created for it. Requires the lock. */
export async function removeSocket(folder: EmbeddedFolder): Promise<void> {
  const socket = await socketPath(folder);
  if (socket !== folder.socket) await rm(dirname(socket), { recursive: true, force: true });
  await rm(folder.socket, { force: true });
}

/** Path to connect to, whether or not a process listens there. */
export async function socketPath(folder: EmbeddedFolder): Promise<string> {
  try {
    return await Deno.readLink(folder.socket);
  } catch {
    return folder.socket;
  }
}
