import { createReadStream } from "node:fs";
import type { ArchiveSource } from "../../report/archive/mod.ts";
import { unreadable } from "../../report/report_files.ts";

/** An archive on disk. */
export function fileSource(path: string, name = path): ArchiveSource {
  return {
    name,
    async *open() {
      try {
        yield* createReadStream(path);
      } catch (error) {
        throw unreadable(name, error);
      }
    },
  };
}
