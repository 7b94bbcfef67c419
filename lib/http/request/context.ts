import type { Database } from "../../../db/connection/connect.ts";
import type { Log } from "../../base/log.ts";

/** What handlers depend on; passed in, so that tests can replace it. */
export interface Context {
  /** Only reads: a replica or a read-only connection is enough. */
  sql: Database["sql"];
  /** Whole seconds since 1970. */
  now(): number;
  /** Length of the window. */
  windowSeconds: number;
  log: Log;
  /** Limits of the caches; each has a default. */
  cache?: { maxCachedBytes: number; maxCachedTests: number };
}
