import { readFileSync } from "node:fs";

const FILE = "/proc/thread-self/schedstat";

/**
 * Processor time of this thread in milliseconds, which does not grow while other processes use the processors.
 * Without Linux it is the time that passes.
 */
export function threadMs(): number {
  try {
    return parseInt(readFileSync(FILE, "utf8")) / 1e6;
  } catch {
    return performance.now();
  }
}
