/** A folder or bucket that archives are stored in, and the folder of unfinished ones. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../base/config.ts";
import { moveDurably } from "./folder.ts";
import { S3Bucket } from "./s3_client.ts";
import { parseS3Url, readS3Settings } from "./s3_storage.ts";
import { StorageError, type StoredFile } from "./storage.ts";

/** Stores archives for `watch`. */
export interface Inbox {
  /** Parent of the folders for unfinished files: on the file system of the folder. */
  unfinished: string;
  /** Stores a finished file durably; the file may be moved. @returns its key in `watch` */
  put(file: StoredFile, name: string): Promise<string>;
}

/** Of archives that are sent elsewhere. */
export const TEMPORARY_FOLDER = join(tmpdir(), `test-analytics-unfinished-${Deno.uid() ?? 0}`);

/**
 * Parses `--to`: a folder or `s3://BUCKET/PREFIX`.
 *
 * @throws {UsageError} when it is something else, or credentials are missing
 */
export function openInbox(to: string, environment: Environment, expected?: string): Inbox {
  const location = parseS3Url(to, "--to", expected);
  if (location) {
    const { bucket, prefix } = location;
    const s3 = new S3Bucket(bucket, readS3Settings(environment));
    return {
      unfinished: TEMPORARY_FOLDER,
      async put(file, name) {
        await s3.put(`${prefix}${name}`, file);
        return `${prefix}${name}`;
      },
    };
  }
  return {
    // `watch` ignores hidden folders.
    unfinished: join(to, ".unfinished"),
    async put({ path }, name) {
      await moveDurably(path, to, name);
      return name;
    },
  };
}

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
  using mutex = await Deno.open(join(parent, "lock"), { create: true, write: true });
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
