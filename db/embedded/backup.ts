import { readdir } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import type postgres from "postgres";
import { sync } from "./folder.ts";

/** Interval of statements during the copy: a transaction that is silent for a minute is ended. */
const KEEP_ALIVE_MS = 5_000;

/**
 * Copies the embedded database into a new data folder while it is in use; returns the bytes copied.
 *
 * All clients share one session, so nothing is written while our transaction is open: the files are
 * as after a kill at that moment, from which the database recovers. The other clients wait for the
 * copy (0.5 s for the 40 MB and 1,042 files of a new database), but not for syncing it to disk.
 */
export async function backUpEmbedded(
  sql: postgres.Sql,
  { dataDir, target }: { dataDir: string; target: string },
): Promise<{ bytes: number }> {
  // Renamed when complete, so that a partial copy is never mistaken for a backup.
  const unfinished = `${target}.unfinished-${crypto.randomUUID()}`;
  try {
    const files = await sql.begin(async (tx) => {
      // Leaves little to recover when the copy is opened.
      await tx`checkpoint`;
      const copies = [join(unfinished, "postgres", "data")];
      await Deno.mkdir(copies[0]!, { recursive: true, mode: 0o700 });
      let lastStatement = Date.now();
      const data = join(dataDir, "postgres", "data");
      for (const entry of await readdir(data, { recursive: true, withFileTypes: true })) {
        const source = join(entry.parentPath, entry.name);
        const copy = join(unfinished, "postgres", "data", relative(data, source));
        copies.push(copy);
        if (entry.isDirectory()) await Deno.mkdir(copy, { recursive: true, mode: 0o700 });
        else await Deno.copyFile(source, copy);
        if (Date.now() - lastStatement < KEEP_ALIVE_MS) continue;
        lastStatement = Date.now();
        await tx`select 1`;
      }
      return copies;
    });
    let bytes = 0;
    for (const file of files) bytes += await sync(file);
    await Deno.chmod(join(unfinished, "postgres"), 0o700);
    await Deno.rename(unfinished, target);
    await sync(dirname(target));
    return { bytes };
  } catch (error) {
    await Deno.remove(unfinished, { recursive: true }).catch(() => {});
    throw error;
  }
}
