import { tmpdir } from "node:os";
import { join } from "node:path";
import { StorageError } from "./storage.ts";

/** Prefix of folders of unfinished files; what follows is random. */
const PREFIX = "test-analytics-unfinished-";

/** Parent of the folders of unfinished files that are not stored in a folder: it is shared by all users. */
export const TEMPORARY_FOLDER = tmpdir();

/**
 * Creates a folder below `parent` for the unfinished files of this process, which `close` removes, and
 * removes the folders of killed processes of this user: the kernel releases the lock of a process when it
 * ends. Others can neither choose the folder nor read it.
 *
 * @throws {StorageError} when `parent` cannot be created, or is a link
 */
export async function openWorkFolder(parent: string) {
  await Deno.mkdir(parent, { recursive: true, mode: 0o700 }).catch((error) => {
    throw new StorageError(`${error.message}: check --to`);
  });
  if (parent !== TEMPORARY_FOLDER && (await Deno.lstat(parent)).isSymlink) {
    throw new StorageError(`"${parent}" is a link: expected a folder`);
  }
  for await (const { name, isDirectory } of Deno.readDir(parent)) {
    if (isDirectory && name.startsWith(PREFIX)) await removeAbandoned(join(parent, name));
  }
  const path = await Deno.makeTempDir({ dir: parent, prefix: PREFIX });
  const lock = await createLock(path);
  return {
    path,
    async close(): Promise<void> {
      await Deno.remove(path, { recursive: true });
      lock.close();
    },
  };
}

/** The lock gets its name when it is held: a folder without it belongs to a process that starts. */
async function createLock(folder: string): Promise<Deno.FsFile> {
  const unnamed = join(folder, "lock.new");
  const file = await Deno.open(unnamed, { createNew: true, write: true, mode: 0o600 });
  await file.lock(true);
  await Deno.rename(unnamed, join(folder, "lock"));
  return file;
}

/** Removes a folder of this user whose lock is not held. */
async function removeAbandoned(folder: string): Promise<void> {
  try {
    const { isDirectory, uid } = await Deno.lstat(folder);
    if (!isDirectory || uid !== Deno.uid()) return;
    using lock = await Deno.open(join(folder, "lock"), { write: true });
    if (await lock.tryLock(true)) await Deno.remove(folder, { recursive: true });
  } catch (error) {
    // Removed in the meantime, or without a lock yet.
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
}
