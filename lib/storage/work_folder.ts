import { join } from "node:path";
import { StorageError } from "./storage.ts";

/**
 * Creates a folder below `parent` for the unfinished files of this process, which `close` removes, and
 * removes those of killed processes: the kernel releases the lock of a process when it ends.
 *
 * @throws {StorageError} when `parent` cannot be created
 */
export async function openWorkFolder(parent: string) {
  await Deno.mkdir(parent, { recursive: true, mode: 0o700 }).catch((error) => {
    throw new StorageError(`${error.message}: check --to`);
  });
  // One process at a time: a new folder is not locked yet.
  using mutex = await openLock(parent);
  await mutex.lock(true);
  for await (const { name, isDirectory } of Deno.readDir(parent)) {
    if (!isDirectory) continue;
    using lock = await openLock(join(parent, name));
    if (await lock.tryLock(true)) await Deno.remove(join(parent, name), { recursive: true });
  }
  const path = await Deno.makeTempDir({ dir: parent });
  const lock = await openLock(path);
  await lock.lock(true);
  return {
    path,
    async close(): Promise<void> {
      await Deno.remove(path, { recursive: true });
      lock.close();
    },
  };
}

function openLock(folder: string): Promise<Deno.FsFile> {
  return Deno.open(join(folder, "lock"), { create: true, write: true });
}
