import type { PGlite } from "@electric-sql/pglite";
import { embeddedFiles } from "./files.ts";

/**
 * Opens the database in a folder, or creates it there. The library is loaded here and not before:
 * most commands never own an embedded database, and those on a server have none.
 */
export async function openPostgres(path: string): Promise<PGlite> {
  const [{ PGlite }, files] = await Promise.all([
    import("@electric-sql/pglite"),
    embeddedFiles(),
  ]);
  return await PGlite.create(path, files);
}
