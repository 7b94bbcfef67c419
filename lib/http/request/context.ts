import type { Database } from "../../../db/connection/connect.ts";
import type { Log } from "../../base/log.ts";

/** What the HTTP side needs of the world; passed in, so that tests can put their own in its place. */
export interface Context {
  /** Only ever read with: a replica or a connection that cannot write will do. */
  sql: Database["sql"];
  /** Whole seconds since 1970. */
  now(): number;
  /** Seconds that every list looks back. */
  windowSeconds: number;
  log: Log;
  /** How much is kept of what was answered and loaded; as much as is wise unless given. */
  cache?: { maxCachedBytes: number; maxCachedTests: number };
}
