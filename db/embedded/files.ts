import type { PGliteOptions } from "@electric-sql/pglite";

/** What the embedded PostgreSQL is made of, besides its JavaScript. */
export type Files = Pick<PGliteOptions, "pgliteWasmModule" | "initdbWasmModule" | "fsBundle">;

/**
 * The files of the embedded PostgreSQL, where they do not lie beside its JavaScript. From source they
 * do, and nothing is to be told; `tools/bundle.ts` puts another module in this one's place, which
 * carries them.
 */
export function embeddedFiles(): Promise<Files> {
  return Promise.resolve({});
}
