// Tests: tests/db/embedded/maintenance_test.ts
import type { PGliteOptions } from "@electric-sql/pglite";

/** The files of the embedded PostgreSQL other than its JavaScript. */
type Files = Pick<PGliteOptions, "pgliteWasmModule" | "initdbWasmModule" | "fsBundle">;

/**
 * The files of the embedded PostgreSQL, unless they are next to its JavaScript, as they are when the
 * program runs from source. `tools/bundle.ts` replaces this module by one that contains them.
 */
export function embeddedFiles(): Promise<Files> {
  return Promise.resolve({});
}
