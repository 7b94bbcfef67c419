import { createLog, type Log } from "../lib/base/log.ts";

/** A log that drops everything. */
export const silentLog: Log = createLog({ write: () => {}, now: () => 0 });
