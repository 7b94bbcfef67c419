import type { ReportOptions } from "../../../lib/report/report_reader.ts";
import { readReport } from "../../../lib/report/read_report.ts";
import type { TestResult } from "../../../lib/report/result.ts";

/** Bytes as a source hands them over, in chunks. */
export async function* inChunks(
  bytes: Uint8Array,
  chunkBytes: number,
): AsyncGenerator<Uint8Array, void> {
  for (let start = 0; start < bytes.length; start += chunkBytes) {
    yield bytes.subarray(start, start + chunkBytes);
  }
}

/** The results of a report that is given as text. */
export async function readText(
  text: string,
  options: Partial<ReportOptions> = {},
): Promise<TestResult[]> {
  return await readBytes(inChunks(new TextEncoder().encode(text), 64 * 1024), options);
}

/** The results of a report. */
export async function readBytes(
  bytes: AsyncIterable<Uint8Array>,
  options: Partial<ReportOptions> = {},
): Promise<TestResult[]> {
  const results: TestResult[] = [];
  await readReport(bytes, {
    file: "report.xml",
    onResult: (result) => results.push(result),
    ...options,
  });
  return results;
}

/** A beginning, a text repeated to a number of bytes, and an end. */
export async function* repeated(
  start: string,
  unit: string,
  byteCount: number,
  end: string,
): AsyncGenerator<Uint8Array, void> {
  const encoder = new TextEncoder();
  yield encoder.encode(start);
  const piece = encoder.encode(unit.repeat(Math.ceil(60_000 / unit.length)));
  for (let count = 0; count < byteCount; count += piece.length) yield piece;
  yield encoder.encode(end);
}
