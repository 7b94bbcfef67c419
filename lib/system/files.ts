// Tests: tests/lib/cli/commands/backup_test.ts tests/lib/cli/commands/doctor_test.ts
import fs from "node:fs";
import { dirname } from "node:path";

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

/** Free disk space in bytes for a folder, which may not exist yet; infinite if unknown. */
export function freeBytes(folder: string): number {
  try {
    const { bavail, bsize } = fs.statfsSync(folder);
    return bavail * bsize;
  } catch {
    return dirname(folder) === folder ? Infinity : freeBytes(dirname(folder));
  }
}
