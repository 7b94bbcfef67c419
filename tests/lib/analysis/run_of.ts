import type { Attempt, AttemptKind } from "../../../lib/analysis/columns.ts";
import { type Run, RunDurations, RunResults, TestList } from "../../../lib/analysis/run.ts";
import { columnsOf } from "./columns_of.ts";

/** How a test ended: its attempts, or their kinds, which then take 0. */
type Ended = readonly Attempt[] | readonly AttemptKind[];

/** Lists, so that runs of the same tests share one as they do when they are loaded. */
const lists = new Map<string, TestList>();

/** A run of tests, by test_no in the order of the list; recorded at `place`, which its id sorts by. */
export function runOf<Facts extends object = Record<never, never>>(
  place: number,
  ended: Record<number, Ended> | ReadonlyMap<number, Ended>,
  facts: Facts = {} as Facts,
): Run<"tests" | "results" | "durations"> & Facts {
  const entries = ended instanceof Map
    ? [...(ended as ReadonlyMap<number, Ended>)]
    : Object.entries(ended)
      .map(([testNo, own]): [number, Ended] => [Number(testNo), own]);
  const testNos = entries.map(([testNo]) => testNo);
  const key = testNos.join();
  const tests = lists.get(key) ?? new TestList(Int32Array.from(testNos));
  lists.set(key, tests);
  const columns = columnsOf(
    entries.map(([, own]) =>
      own.map((one) => typeof one === "string" ? { kind: one, durationMicroseconds: 0 } : one)
    ),
  );
  return {
    submissionId: place.toString(16).padStart(8, "0").padEnd(24, "0"),
    recordedAt: place,
    tests,
    results: new RunResults(tests, columns),
    durations: new RunDurations(tests, columns),
    ...facts,
  };
}
