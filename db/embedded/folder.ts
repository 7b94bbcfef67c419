import { dirname, join } from "node:path";
import process from "node:process";

/**
 * Longest path of a Unix socket in bytes. Linux takes 107, macOS 103; longer ones are cut off in
 * silence by some systems.
 */
const MAX_SOCKET_PATH_BYTES = 103;

/** Major version of the embedded PostgreSQL; its files cannot be opened by another. */
const MAJOR_VERSION = "18";

/** Prefix of folders in which a database is being created. */
const UNFINISHED = "unfinished-";

/** Where the embedded database keeps its things: a folder of its own, so that the rest of the data
 * folder may hold whatever it likes. */
export interface Folder {
  /** The folder itself, readable by its owner alone. */
  path: string;
  /** Files of the database. */
  data: string;
  /** Held locked by the process that has the database open. */
  lock: string;
  /** The socket, or a symbolic link to it where this path would be too long for one. */
  socket: string;
}

/**
 * Paths of the embedded database of a data folder, which is created when missing.
 *
 * @throws {Error} when it cannot be created, or is no folder
 */
export async function openFolder(dataDir: string): Promise<Folder> {
  const wanted = join(dataDir, "postgres");
  try {
    await Deno.mkdir(wanted, { recursive: true, mode: 0o700 });
    await Deno.chmod(wanted, 0o700);
  } catch (error) {
    throw new Error(
      `data folder ${JSON.stringify(dataDir)} cannot be used: ${reason(error)}; ` +
        `expected a folder that may be written to (DATA_DIR)`,
      { cause: error },
    );
  }
  const path = await Deno.realPath(wanted);
  return {
    path,
    data: join(path, "data"),
    lock: join(path, "lock"),
    socket: join(path, "socket"),
  };
}

/**
 * Takes the lock that only one process can have, or returns undefined. The kernel frees it when the
 * process ends, however it ends, so it is never stale.
 */
export async function tryLock(folder: Folder): Promise<Deno.FsFile | undefined> {
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
 * Sees to it that the database's files are there, all of them. Only for the holder of the lock.
 *
 * @param create fills the folder it is given with a new database
 * @throws {Error} when there is something else in their place
 */
export async function ensureData(
  folder: Folder,
  create: (path: string) => Promise<void>,
): Promise<void> {
  for await (const entry of Deno.readDir(folder.path)) {
    if (entry.name.startsWith(UNFINISHED)) {
      await Deno.remove(join(folder.path, entry.name), { recursive: true });
    }
  }
  if (await exists(folder.data)) return await checkVersion(folder);
  // A database that is killed while it is created cannot be opened any more: only a whole one ever
  // gets the name.
  const unfinished = join(folder.path, `${UNFINISHED}${process.pid}`);
  await create(unfinished);
  await Deno.rename(unfinished, folder.data);
}

async function checkVersion(folder: Folder): Promise<void> {
  let version: string;
  try {
    version = (await Deno.readTextFile(join(folder.data, "PG_VERSION"))).trim();
  } catch (error) {
    throw new Error(
      `${JSON.stringify(folder.data)} is not a database of this program: ` +
        `its PG_VERSION cannot be read (${reason(error)}); expected an empty data folder or one ` +
        `that this program made`,
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

/**
 * Path to listen on, free of what an earlier process left. Only for the holder of the lock.
 */
export async function claimSocket(folder: Folder): Promise<string> {
  await removeSocket(folder);
  if (new TextEncoder().encode(folder.socket).length <= MAX_SOCKET_PATH_BYTES) return folder.socket;
  // A fresh folder with a name nobody can guess; the link tells the other processes.
  const short = await Deno.makeTempDir({
    dir: process.env.XDG_RUNTIME_DIR || "/tmp",
    prefix: "test-analytics-",
  });
  const socket = join(short, "socket");
  await Deno.symlink(socket, folder.socket);
  return socket;
}

/** Removes the socket, its link, and the folder made for it. Only for the holder of the lock. */
export async function removeSocket(folder: Folder): Promise<void> {
  const socket = await socketPath(folder);
  if (socket !== folder.socket) await removeIfThere(dirname(socket), { recursive: true });
  await removeIfThere(folder.socket);
}

/** Path to connect to. There may be nothing behind it. */
export async function socketPath(folder: Folder): Promise<string> {
  try {
    return await Deno.readLink(folder.socket);
  } catch {
    return folder.socket;
  }
}

async function removeIfThere(path: string, options?: Deno.RemoveOptions): Promise<void> {
  try {
    await Deno.remove(path, options);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}

/** Whether there is anything of that path, a dangling link included. */
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
