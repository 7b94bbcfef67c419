import { join } from "node:path";

/** What can be seen of an embedded database without opening it. */
export interface EmbeddedLook {
  /** Its folder. */
  path: string;
  /** False when there is none yet. */
  exists: boolean;
  /** Whether a process has it open. */
  isInUse: boolean;
}

/** Looks at the embedded database of a data folder and changes nothing. */
export async function lookAtEmbedded(dataDir: string): Promise<EmbeddedLook> {
  const path = join(dataDir, "postgres");
  return {
    path,
    exists: await isThere(join(path, "data", "PG_VERSION")),
    isInUse: await isLocked(join(path, "lock")),
  };
}

async function isLocked(path: string): Promise<boolean> {
  let file: Deno.FsFile;
  try {
    file = await Deno.open(path, { write: true });
  } catch {
    return false;
  }
  try {
    return !await file.tryLock(true);
  } finally {
    // Which frees it again, if it was taken.
    file.close();
  }
}

async function isThere(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
