/** A small disk of its own, which can be filled. Needs root on Linux. */
import { statfs } from "node:fs/promises";
import { join } from "node:path";

const MEGABYTE = 1024 * 1024;

/** Mounts a disk of this size for the time of `body`. */
export async function onSmallDisk<T>(
  megabytes: number,
  body: (disk: string) => Promise<T>,
): Promise<T> {
  const disk = await Deno.makeTempDir({ prefix: "test-analytics-disk-" });
  await command("mount", "-t", "tmpfs", "-o", `size=${megabytes}m,mode=1777`, "tmpfs", disk);
  try {
    return await body(disk);
  } finally {
    await command("umount", "--lazy", disk);
    await Deno.remove(disk);
  }
}

/** Calls `body` with this folder as the parent of temporary folders. */
export async function withTemporaryFolder<T>(
  folder: string,
  body: () => Promise<T>,
): Promise<T> {
  const before = Deno.env.get("TMPDIR");
  Deno.env.set("TMPDIR", folder);
  try {
    return await body();
  } finally {
    if (before === undefined) Deno.env.delete("TMPDIR");
    else Deno.env.set("TMPDIR", before);
  }
}

/** Free bytes of a disk. */
export async function freeBytesOf(disk: string): Promise<number> {
  const { bavail, bsize } = await statfs(disk);
  return bavail * bsize;
}

/** Fills a disk except for a number of bytes. */
export async function fill(disk: string, leaveBytes: number): Promise<void> {
  const file = await Deno.open(join(disk, "ballast"), { create: true, append: true });
  try {
    const chunk = new Uint8Array(MEGABYTE);
    for (let rest = await freeBytesOf(disk) - leaveBytes; rest > 0;) {
      rest -= await file.write(chunk.subarray(0, Math.min(rest, chunk.length)));
    }
  } finally {
    file.close();
  }
}

/** Undoes {@linkcode fill}. */
export async function makeRoom(disk: string): Promise<void> {
  await Deno.remove(join(disk, "ballast"));
}

async function command(file: string, ...args: string[]): Promise<void> {
  const { success, stderr } = await new Deno.Command(file, { args }).output();
  if (!success) throw new Error(`${file}: ${new TextDecoder().decode(stderr)}`);
}
