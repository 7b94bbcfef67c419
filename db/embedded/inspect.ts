import { join } from "node:path";
import { exists } from "./folder.ts";

/** State of an embedded database, as far as it is visible from outside. */
export interface EmbeddedState {
  /** Its folder. */
  path: string;
  /** False until it is created. */
  exists: boolean;
  /** Whether a process has it open. */
  isInUse: boolean;
}

/** Inspects the embedded database of a data folder without opening it. */
export async function inspectEmbedded(dataDir: string): Promise<EmbeddedState> {
  const path = join(dataDir, "postgres");
  return {
    path,
    exists: await exists(join(path, "data", "PG_VERSION")).catch(() => false),
    isInUse: await isLocked(join(path, "lock")),
  };
}

async function isLocked(path: string): Promise<boolean> {
  const file = await Deno.open(path, { write: true }).catch(() => null);
  try {
    return file !== null && !await file.tryLock(true);
  } finally {
    // Also releases the lock if it was acquired.
    file?.close();
  }
}
