/** `durable_files.ts`: what is acknowledged is on the disk. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import fs from "node:fs";
import { join, resolve } from "node:path";
import { PGlite } from "@electric-sql/pglite";
import { openDatabase } from "../../../db/connection/connect.ts";
import { copyTemplate } from "../../database.ts";

/** A write that the operating system has taken, and the disk has not. */
interface Unsynced {
  position: number;
  bytes: Uint8Array;
}

/**
 * Records what of a folder would survive a loss of power: contents as of the last fsync of each file.
 * Files are created, renamed, truncated and deleted at once, as a journaling file system keeps their order.
 */
class Disk {
  readonly #originals = { ...fs };
  readonly #replaced: (keyof typeof fs)[];
  readonly #paths = new Map<number, string>();
  readonly #unsynced = new Map<string, Unsynced[]>();
  fsyncCount = 0;

  /** @param copy a copy of `folder` as it is now */
  constructor(readonly folder: string, readonly copy: string, { ignoresFsync = false } = {}) {
    const { openSync, writeSync, fsyncSync, ftruncateSync, truncateSync, renameSync } =
      this.#originals;
    const { unlinkSync, mkdirSync, writeFileSync, rmdirSync } = this.#originals;
    const both =
      <Rest extends unknown[]>(operation: (path: string, ...rest: Rest) => unknown) =>
      (path: string, ...rest: Rest) => {
        const result = operation(path, ...rest);
        const copied = this.#copyOf(path);
        if (copied) operation(copied, ...rest);
        return result;
      };
    const replacements = {
      openSync: (path: string, flags: number, mode?: number) => {
        const descriptor = openSync(path, flags, mode);
        const copied = this.#copyOf(path);
        if (copied) {
          this.#paths.set(descriptor, copied);
          if (!fs.existsSync(copied)) writeFileSync(copied, "");
          if (flags & fs.constants.O_TRUNC) truncateSync(copied);
        } else this.#paths.delete(descriptor);
        return descriptor;
      },
      writeSync: (
        descriptor: number,
        buffer: Uint8Array,
        offset: number,
        length: number,
        position: number,
      ) => {
        const written = writeSync(descriptor, buffer, offset, length, position);
        const path = this.#paths.get(descriptor);
        if (path) {
          const bytes = new Uint8Array(buffer.buffer, buffer.byteOffset + offset, written).slice();
          this.#unsynced.set(path, [...this.#unsynced.get(path) ?? [], { position, bytes }]);
        }
        return written;
      },
      fsyncSync: (descriptor: number) => {
        this.fsyncCount++;
        const path = this.#paths.get(descriptor);
        if (path && !ignoresFsync) this.#flush(path);
        fsyncSync(descriptor);
      },
      ftruncateSync: (descriptor: number, length: number) => {
        ftruncateSync(descriptor, length);
        const path = this.#paths.get(descriptor);
        if (path) truncateSync(path, length);
      },
      truncateSync: both(truncateSync),
      unlinkSync: both(unlinkSync),
      mkdirSync: both(mkdirSync),
      rmdirSync: both(rmdirSync),
      writeFileSync: both(writeFileSync),
      renameSync: (from: string, to: string) => {
        renameSync(from, to);
        const [copiedFrom, copiedTo] = [this.#copyOf(from), this.#copyOf(to)];
        if (!copiedFrom || !copiedTo) return;
        renameSync(copiedFrom, copiedTo);
        this.#unsynced.set(copiedTo, this.#unsynced.get(copiedFrom) ?? []);
        this.#unsynced.delete(copiedFrom);
        for (const [descriptor, path] of this.#paths) {
          if (path === copiedFrom) this.#paths.set(descriptor, copiedTo);
        }
      },
    };
    Object.assign(fs, replacements);
    this.#replaced = Object.keys(replacements) as (keyof typeof fs)[];
  }

  /** Later operations change the copy no more. */
  disconnect(): void {
    for (const name of this.#replaced) Object.assign(fs, { [name]: this.#originals[name] });
  }

  #copyOf(path: string): string | null {
    const absolute = resolve(path);
    return absolute.startsWith(this.folder) ? this.copy + absolute.slice(this.folder.length) : null;
  }

  #flush(path: string): void {
    const { openSync, writeSync, closeSync } = this.#originals;
    const writes = this.#unsynced.get(path);
    // Folders are flushed too.
    if (!writes) return;
    const descriptor = openSync(path, "r+");
    for (const { position, bytes } of writes) {
      writeSync(descriptor, bytes, 0, bytes.length, position);
    }
    closeSync(descriptor);
    this.#unsynced.delete(path);
  }
}

/** Writes rows and loses power, twice; returns how many of 20 acknowledged rows are there in the end. */
async function survivors(options: { ignoresFsync?: boolean } = {}): Promise<number> {
  const folders = [await Deno.realPath(await copyTemplate())];
  try {
    for (const first of [0, 10]) {
      const dataDir = folders.at(-1)!;
      const copy = await Deno.makeTempDir({ prefix: "test-analytics-disk-" });
      folders.push(copy);
      await copyFolder(dataDir, copy);
      const disk = new Disk(dataDir, copy, options);
      // The second time this recovers what the first loss of power has left.
      const database = await openDatabase({ dataDir });
      try {
        await database.sql`create table if not exists written (n integer, text text)`;
        for (let n = first; n < first + 10; n++) {
          await database.sql`insert into written values (${n}, ${"x".repeat(n * 997)})`;
          if (n === 5) await database.sql`checkpoint`;
        }
      } finally {
        disk.disconnect();
        await database.close();
      }
    }
    const survived = await openDatabase({ dataDir: folders.at(-1)! });
    try {
      const [row] = await survived.sql<{ count: number }[]>`
        select count(*)::int as count from written where length(text) = n * 997`;
      return row!.count;
    } finally {
      await survived.close();
    }
  } finally {
    for (const folder of folders) await Deno.remove(folder, { recursive: true });
  }
}

async function copyFolder(from: string, to: string): Promise<void> {
  await Deno.mkdir(to, { recursive: true });
  for await (const { name, isDirectory, isFile } of Deno.readDir(from)) {
    if (isDirectory) await copyFolder(join(from, name), join(to, name));
    else if (isFile) await Deno.copyFile(join(from, name), join(to, name));
  }
}

describe("a loss of power, with every write lost that was not flushed to disk", () => {
  it("loses no acknowledged write of the embedded database", async () => {
    assert.equal(await survivors(), 20);
  });

  it("needs a file system of its own, because that of PGlite flushes nothing", async () => {
    const dataDir = await copyTemplate();
    const disk = new Disk("/none", "/none");
    const startParams = [
      ...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"),
      ...["-c", "wal_sync_method=fsync"],
    ];
    try {
      const postgres = await PGlite.create({
        dataDir: join(dataDir, "postgres", "data"),
        startParams,
      });
      await postgres.exec("create table written (n integer); checkpoint");
      await postgres.close();
      assert.equal(disk.fsyncCount, 0);
    } finally {
      disk.disconnect();
      await Deno.remove(dataDir, { recursive: true });
    }
  });

  it("would take acknowledged rows if nothing was flushed", async () => {
    const count = await survivors({ ignoresFsync: true }).catch((error) => {
      // Neither the table nor a database is certain.
      assert.match(error.message, /relation "written" does not exist|are damaged/);
      return 0;
    });
    assert.ok(count < 20, `${count} rows`);
  });
});
