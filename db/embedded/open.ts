import type { PGlite } from "@electric-sql/pglite";
import { embeddedFiles } from "./files.ts";

/**
 * Opens the database in a folder, or creates it there. PGlite is loaded on demand, because most
 * commands connect to a server or to another process.
 */
export async function openPostgres(path: string): Promise<PGlite> {
  const [{ PGlite }, files] = await Promise.all([
    import("@electric-sql/pglite"),
    embeddedFiles(),
  ]);
  return await PGlite.create(path, files);
}
