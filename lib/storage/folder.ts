import { createReadStream, type Stats } from "node:fs";
import { readdir, rm, rmdir, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { errorCode } from "../base/error.ts";
import { exists } from "../system/files.ts";
import type { ArchiveSource } from "../report/archive/mod.ts";
import { unreadable } from "../report/report_files.ts";
import {
  type ArchiveStorage,
  isArchiveName,
  readChunks,
  StorageError,
  type StoredArchive,
} from "./storage.ts";

// A file may be written slowly, over WebDAV or a network disk. It is complete when it has not changed
// for two seconds, or was last modified a minute ago.
const SETTLED_MS = 2_000;
const SURELY_SETTLED_MS = 60_000;
const BATCH_SIZE = 500;
// The names that `receive` and `upload` give, with a digest: the same name has the same contents.
const NAME_OF_CONTENTS = /-[0-9a-f]{16}\.gz$/;
// A network disk that is unavailable may block for ever.
const IDLE_TIMEOUT_MS = 60_000;

/** One archive on disk. */
export function fileSource(path: string): ArchiveSource {
  return {
    name: path,
    async *open() {
      try {
        yield* createReadStream(path);
      } catch (error) {
        throw unreadable(path, error);
      }
    },
  };
}

function versionOf({ size, mtimeMs }: Stats): string {
  return `${size}-${mtimeMs}`;
}

function archiveOf(key: string, info: Stats, isComplete: boolean): StoredArchive {
  return {
    key,
    version: versionOf(info),
    uploadedAt: Math.floor(info.mtimeMs / 1000),
    isComplete,
  };
}

/** When each file that may be incomplete was first seen in its current version. */
type Unsettled = Map<string, { version: string; since: number }>;

/** A folder of archives, with its subfolders; links and hidden files are ignored. */
export class FolderStorage implements ArchiveStorage {
  readonly remove?: (archive: StoredArchive) => Promise<void>;
  #unsettled: Unsettled = new Map();

  /**
   * @param name the real path of the folder
   * @param options.stop aborts the reading of a file
   * @param options.isInbox archives appear by renaming, and are removed when they were processed
   */
  constructor(
    readonly name: string,
    private readonly options: { stop?: AbortSignal; isInbox?: boolean } = {},
  ) {
    if (options.isInbox) this.remove = (archive) => this.#remove(archive);
  }

  async *list(): AsyncGenerator<StoredArchive[], void> {
    const seen: Unsettled = new Map();
    let batch: StoredArchive[] = [];
    for await (const key of this.#keys("")) {
      const info = await stat(join(this.name, key)).catch(() => null);
      // Deleted in the meantime, or a device.
      if (!info?.isFile()) continue;
      const isReceived = this.remove !== undefined && NAME_OF_CONTENTS.test(key);
      const isComplete = isReceived || Date.now() - info.mtimeMs > SURELY_SETTLED_MS ||
        this.#isSettled(key, versionOf(info), seen);
      batch.push(archiveOf(key, info, isComplete));
      if (batch.length === BATCH_SIZE) {
        yield batch;
        batch = [];
      }
    }
    if (batch.length > 0) yield batch;
    this.#unsettled = seen;
  }

  /** The archive with a key, complete; `null` when there is none. */
  async find(key: string): Promise<StoredArchive | null> {
    const info = await stat(join(this.name, key)).catch(() => null);
    return info && archiveOf(key, info, true);
  }

  open({ key }: StoredArchive): ArchiveSource {
    const path = join(this.name, key);
    const { stop } = this.options;
    return {
      name: key,
      open: () => readChunks(createReadStream(path), { what: key, idleMs: IDLE_TIMEOUT_MS, stop }),
    };
  }

  async #remove({ key, version }: StoredArchive): Promise<void> {
    const path = join(this.name, key);
    const info = await stat(path).catch(() => null);
    if (info && versionOf(info) !== version) return;
    await rm(path, { force: true });
  }

  /** Removes the empty subfolders that have not changed since `before`, in seconds since 1970. */
  async removeEmptyFolders({ before }: { before: number }, folder = this.name): Promise<void> {
    for (const entry of await readdir(folder, { withFileTypes: true })) {
      if (!entry.isDirectory() || entry.name.startsWith(".")) continue;
      const path = join(folder, entry.name);
      const { mtimeMs } = await stat(path);
      await this.removeEmptyFolders({ before }, path);
      if (mtimeMs > before * 1000) continue;
      await rmdir(path).catch((error) => {
        if (!["ENOTEMPTY", "EEXIST", "ENOENT"].includes(errorCode(error))) throw error;
      });
    }
  }

  #isSettled(key: string, version: string, seen: Unsettled): boolean {
    const now = Date.now();
    const before = this.#unsettled.get(key);
    const since = before?.version === version ? before.since : now;
    seen.set(key, { version, since });
    return now - since >= SETTLED_MS;
  }

  async *#keys(folder: string): AsyncGenerator<string, void> {
    const path = join(this.name, folder);
    const entries = await readdir(path, { withFileTypes: true }).catch((error) => {
      throw new StorageError(`${path}: ${error.message}`);
    });
    entries.sort((a, b) => a.name < b.name ? -1 : 1);
    for (const entry of entries) {
      if (entry.name.startsWith(".")) continue;
      const key = folder === "" ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) yield* this.#keys(key);
      else if (entry.isFile() && isArchiveName(entry.name)) yield key;
    }
  }
}

/**
 * Copies the archives of a folder into another one, readable by their owner alone, except those that it
 * has already; returns their number. Archives that are removed meanwhile are left out.
 *
 * @param options.onFile awaited after each file
 */
export async function copyArchives(
  source: string,
  { target, onFile }: { target: string; onFile(): Promise<void> },
): Promise<number> {
  let count = 0;
  for await (const batch of new FolderStorage(source).list()) {
    for (const { key } of batch) {
      const copy = join(target, key);
      await onFile();
      if (await exists(copy)) continue;
      await Deno.mkdir(dirname(copy), { recursive: true, mode: 0o700 });
      try {
        await Deno.copyFile(join(source, key), copy);
        // Without a timestamp of its own, an archive's tests ran when it was uploaded.
        const { mtime } = await Deno.stat(join(source, key));
        await Deno.utime(copy, mtime ?? 0, mtime ?? 0);
        await Deno.chmod(copy, 0o600);
        count++;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw error;
        await rm(copy, { force: true });
      }
    }
  }
  return count;
}

/** Moves finished files below a folder of the same file system. */
export class DurableFolder {
  /** Subfolders whose names are on disk. */
  readonly #known = new Set<string>();

  /** @param isPrivate whether files and new folders are for their owner alone, whatever the umask */
  constructor(private readonly path: string, private readonly isPrivate: boolean) {}

  /**
   * Contents and name are on disk when this resolves.
   *
   * @param name path below the folder, with `/`
   * @throws {StorageError} when a part of the path is a link, which could lead anywhere
   */
  async move(file: string, name: string): Promise<void> {
    try {
      await this.#move(file, name);
    } catch (error) {
      // A known folder may have been removed.
      this.#known.clear();
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      await this.#move(file, name);
    }
  }

  async #move(file: string, name: string): Promise<void> {
    if (this.isPrivate) await Deno.chmod(file, 0o600);
    await flush(file);
    const folders = [this.path];
    for (const part of name.split("/").slice(0, -1)) {
      const path = join(folders.at(-1)!, part);
      if (!this.#known.has(path)) await this.#create(path);
      if (!(await Deno.lstat(path)).isDirectory) {
        throw new StorageError(`"${path}" is a link or a file: expected a folder`);
      }
      folders.push(path);
    }
    await Deno.rename(file, join(this.path, name));
    // A name is an entry of its folder, and that may be new too.
    for (const path of folders.toReversed()) {
      await flush(path);
      if (this.#known.has(path)) break;
    }
    for (const path of folders.slice(1)) this.#known.add(path);
  }

  async #create(path: string): Promise<void> {
    await Deno.mkdir(path, { mode: this.isPrivate ? 0o700 : 0o777 }).catch((error) => {
      if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    });
  }
}

async function flush(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}
