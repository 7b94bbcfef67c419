// Tests: tests/lib/analysis/run_test.ts tests/lib/analysis/submission_content_test.ts
/** The time of suites beyond their tests: hooks, imports, the start of a fork. */
import type { SuiteOverhead } from "../report/report_reader.ts";
import { VarintReader, VarintWriter } from "./varint.ts";

/** What a suite took beyond its tests, by its first test. */
export interface TestOverhead extends SuiteOverhead {
  testHash: number;
}

/** As it is stored: for each suite the number of its first test, and its time with the flag. */
export function encodeOverheads(
  overheads: readonly TestOverhead[],
  testNos: Pick<ReadonlyMap<number, number>, "get">,
): Uint8Array {
  const writer = new VarintWriter();
  for (const { testHash, microseconds, isOneClass } of overheads) {
    const testNo = testNos.get(testHash);
    if (testNo === undefined) continue;
    writer.write(testNo);
    writer.write(microseconds * 2 + Number(isOneClass));
  }
  return writer.finish();
}

/** Reads what {@linkcode encodeOverheads} wrote. */
export function decodeOverheads(
  bytes: Uint8Array,
): { testNo: number; microseconds: number; isOneClass: boolean }[] {
  const reader = new VarintReader(bytes);
  const overheads = [];
  while (!reader.done) {
    const testNo = reader.read();
    const value = reader.read();
    overheads.push({ testNo, microseconds: Math.floor(value / 2), isOneClass: value % 2 === 1 });
  }
  return overheads;
}
