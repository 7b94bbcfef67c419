import { open } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";

/** Longest path of a Unix socket: 107 bytes on Linux, 103 on macOS. Some systems truncate silently. */
const MAX_SOCKET_PATH_BYTES = 103;

/** Major version of the embedded PostgreSQL, which only opens files of the same version. */
const MAJOR_VERSION = "18";

/** Prefix of folders in which a database is being created. */
const UNFINISHED = "unfinished-";

/** Paths of an embedded database, in a folder of its own inside the data folder. */
export interface EmbeddedFolder {
  /** The folder, readable by its owner only. */
  path: string;
  /** The database files. */
  data: string;
  /** Locked by the process that has the database open. */
  lock: string;
  /** The socket, or a symbolic link to it when this path is too long for a socket. */
  socket: string;
}

/** Paths of the embedded database in a data folder, which is created. @throws {Error} */
export async function openFolder(dataDir: string): Promise<EmbeddedFolder> {
  const folder = join(dataDir, "postgres");
  try {
    await Deno.mkdir(folder, { recursive: true, mode: 0o700 });
    await Deno.chmod(folder, 0o700);
  } catch (error) {
    throw new Error(
      `data folder ${JSON.stringify(dataDir)} cannot be used: ${reason(error)}; ` +
        `expected a folder that may be written to (DATA_DIR)`,
      { cause: error },
    );
  }
  const path = await Deno.realPath(folder);
  return {
    path,
    data: join(path, "data"),
    lock: join(path, "lock"),
    socket: join(path, "socket"),
  };
}

/**
 * Acquires the exclusive lock, or returns undefined. The kernel releases it when the process ends,
 * so it is never stale.
 */
export async function tryLock(folder: EmbeddedFolder): Promise<Deno.FsFile | undefined> {
  const file = await Deno.open(folder.lock, { create: true, write: true, mode: 0o600 });
  try {
    if (await file.tryLock(true)) return file;
  } catch (error) {
    file.close();
    throw error;
  }
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
    await removeIfExists(unfinished, { recursive: true });
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
 * Makes files readable by their owner alone, because PGlite creates them for everybody, and flushes
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

async function checkVersion(folder: EmbeddedFolder): Promise<void> {
  let version: string;
  try {
    version = (await Deno.readTextFile(join(folder.data, "PG_VERSION"))).trim();
  } catch (error) {
    throw new Error(
      `${JSON.stringify(folder.data)} is not a database of this program: ` +
        `its PG_VERSION cannot be read (${reason(error)}); expected an empty data folder or one ` +
        `created by this program`,
      { cause: error },
    );
  }
  if (version !== MAJOR_VERSION) {
    throw new Error(
      `${JSON.stringify(folder.data)} is a database of PostgreSQL ${JSON.stringify(version)}; ` +
        `expected ${MAJOR_VERSION}`,
    );
  }
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
  if (socket !== folder.socket) await removeIfExists(dirname(socket), { recursive: true });
  await removeIfExists(folder.socket);
}

/** Path to connect to, whether or not a process listens there. */
export async function socketPath(folder: EmbeddedFolder): Promise<string> {
  try {
    return await Deno.readLink(folder.socket);
  } catch {
    return folder.socket;
  }
}

async function removeIfExists(path: string, options?: Deno.RemoveOptions): Promise<void> {
  try {
    await Deno.remove(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Whether a path exists; dangling links count. */
export async function exists(path: string): Promise<boolean> {
  try {
    await Deno.lstat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
