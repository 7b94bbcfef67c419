/** Files that survive a loss of power. */
import { dirname, join } from "node:path";

/**
 * Moves a finished file below a folder of the same file system. Contents and name are on disk when
 * this resolves.
 *
 * @param name path below the folder, with `/`
 */
export async function moveDurably(file: string, folder: string, name: string): Promise<void> {
  await flush(file);
  const target = join(folder, name);
  await Deno.mkdir(dirname(target), { recursive: true });
  await Deno.rename(file, target);
  // A name is an entry of its folder, and that may be new too.
  const folders = name.split("/").slice(0, -1);
  for (let depth = folders.length; depth >= 0; depth--) {
    await flush(join(folder, ...folders.slice(0, depth)));
  }
}

async function flush(path: string): Promise<void> {
  using file = await Deno.open(path);
  await file.sync();
}
