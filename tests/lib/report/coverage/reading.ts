import { CoverageCollector, type CoverageLimits } from "../../../../lib/report/coverage/mod.ts";

/**
 * Reads texts or bytes as the reports of one upload; their names are `report 1` and so on.
 *
 * @returns covered lines and lines that can be covered, such as `3/4`
 */
export function read(...reports: (string | Uint8Array)[]): Promise<string> {
  return readIn(reports);
}

/** Reads reports in pieces of some bytes, or within limits of the test's own. */
export async function readIn(
  reports: (string | Uint8Array)[],
  options: { chunkBytes?: number; limits?: CoverageLimits } = {},
): Promise<string> {
  const collector = new CoverageCollector(options.limits);
  for (const [index, report] of reports.entries()) {
    const bytes = typeof report === "string" ? new TextEncoder().encode(report) : report;
    await collector.add(pieces(bytes, options.chunkBytes ?? bytes.length), {
      file: `report ${index + 1}`,
    });
  }
  const { coveredLineCount, lineCount } = collector.totals();
  return `${coveredLineCount}/${lineCount}`;
}

async function* pieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let start = 0; start < bytes.length; start += size) {
    yield bytes.subarray(start, start + size);
  }
}
