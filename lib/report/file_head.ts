// Tests: tests/lib/report/report_files_test.ts tests/lib/report/path_prefix_test.ts tests/lib/intake/stale_reports_test.ts
import { open } from "node:fs/promises";

/** Enough for the first suites of a report, and what precedes the events of `go test -json`. */
export const HEAD_BYTES = 64 * 1024;

/** The beginning of a file, of at most {@linkcode HEAD_BYTES}. */
export async function readHead(path: string): Promise<Uint8Array> {
  const handle = await open(path);
  try {
    const { buffer, bytesRead } = await handle.read(new Uint8Array(HEAD_BYTES));
    return buffer.subarray(0, bytesRead);
  } finally {
    await handle.close();
  }
}
