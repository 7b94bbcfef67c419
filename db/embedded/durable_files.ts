// Tests: tests/db/embedded/maintenance_test.ts
import { NodeFS } from "@electric-sql/pglite/nodefs";
import fs from "node:fs";

/**
 * The files of a database in a folder, written to disk whenever PostgreSQL asks for it: an acknowledged
 * transaction survives a loss of power. `NodeFS` ignores `fsync`; this adds the operation that
 * Emscripten calls when a file system has it.
 */
export class DurableFiles extends NodeFS {
  override async init(...[postgres, options]: Parameters<NodeFS["init"]>) {
    const { emscriptenOpts } = await super.init(postgres, options);
    type Module = { FS: { filesystems: { NODEFS: { stream_ops: StreamOperations } } } };
    const addFsync = ({ FS }: Module) => {
      FS.filesystems.NODEFS.stream_ops.fsync ??= ({ nfd }) => fs.fsyncSync(nfd);
    };
    return {
      emscriptenOpts: {
        ...emscriptenOpts,
        preRun: [...emscriptenOpts.preRun ?? [], addFsync],
      } as typeof emscriptenOpts,
    };
  }
}

/** Operations on an open file, with its descriptor in Node.js. */
interface StreamOperations {
  fsync?(stream: { nfd: number }): void;
}
