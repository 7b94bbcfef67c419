/**
 * How many flaky tests are found by each way in which tests are run again, with the table of dialects and
 * without it. `deno task prove recall` prints the table; it fails if a test is called flaky that is not.
 */
import process from "node:process";
import { attemptsOfTests } from "../../../lib/analysis/columns.ts";
import {
  findDisruptions,
  type NegativeResult,
  type VersionRun,
} from "../../../lib/analysis/disruptions.ts";
import { groupOf, isSetUp } from "../../../lib/analysis/repetition/set_up.ts";
import { RunResults, TestList } from "../../../lib/analysis/run.ts";
import type { TestIdentity } from "../../../lib/base/identity.ts";
import type { ReportOptions } from "../../../lib/report/report_reader.ts";
import { FIXTURES, plantedTest, readRun, type Truth, truthOf } from "./verdicts.ts";

/** An upload of a job, with some of the reports of a run. */
interface Upload {
  /** A part of the names of its reports; all of them without. */
  files?: RegExp;
  build: string;
  attempt: string;
}

/** A way in which tests are run again. */
interface Way {
  name: string;
  runs: [tool: string, run: string][];
  /** One upload of all reports without. */
  uploads?: Upload[];
}

const FIRST: Upload = { files: /junit\.xml$/, build: "1", attempt: "1" };
const AGAIN = { files: /rerun\.xml$/ };

export const WAYS: readonly Way[] = [
  { name: "gotestsum `--rerun-fails`", runs: [["gotestsum", "rerun_fails"]] },
  { name: "Go `-count`", runs: [["gotestsum", "count"], ["go_test_json", "count"]] },
  {
    name: "node:test `--test-rerun-failures`, reports named by attempt",
    runs: [["node_test_again", "rerun_failures"]],
  },
  { name: "surefire `rerunFailingTestsCount`", runs: [["surefire", "rerun"]] },
  {
    name: "Playwright `--repeat-each`, retries with `includeRetries`",
    runs: [["playwright", "include_retries"], ["playwright", "repeat_each"]],
  },
  { name: "pytest `--last-failed`, a second report", runs: [["pytest", "last_failed"]] },
  { name: "RSpec `--only-failures`, a second report", runs: [["rspec", "only_failures"]] },
  { name: "jest with the failed files, a second report", runs: [["jest_again", "failed_files"]] },
  { name: "Bazel `--flaky_test_attempts`", runs: [["bazel", "attempts"]] },
  {
    name: "failed jobs run again, such as on GitHub",
    runs: [["pytest", "last_failed"], ["rspec", "only_failures"], ["jest_again", "failed_files"]],
    uploads: [FIRST, { ...AGAIN, build: "1", attempt: "2" }],
  },
  {
    name: "a second build of the commit",
    runs: [["pytest", "last_failed"], ["rspec", "only_failures"], ["jest_again", "failed_files"]],
    uploads: [FIRST, { ...AGAIN, build: "2", attempt: "1" }],
  },
];

/** What was found in the runs of a way. */
interface Recall {
  flakyCount: number;
  foundCount: number;
  /** Planted tests that were called flaky and are not. */
  falselyFlaky: string[];
}

/** Judges the runs of a way as uploads of one commit. */
export async function recallOf(
  { runs, uploads = [{ build: "1", attempt: "1" }] }: Way,
  options: Pick<ReportOptions, "dialects"> = {},
): Promise<Recall> {
  const recall: Recall = { flakyCount: 0, foundCount: 0, falselyFlaky: [] };
  for (const [tool, name] of runs) {
    const { truth, files } = (await truthOf(tool)).runs[name]!;
    const flaky = await flakyIn(new URL(`${tool}/`, FIXTURES), {
      truth,
      options,
      uploads: uploads.map(({ files: some, ...facts }) => ({
        ...facts,
        files: files.filter((file) => some?.test(file) ?? true),
      })),
    });
    for (const [planted, real] of Object.entries(truth)) {
      if (real === "flaky") recall.flakyCount++;
      if (!flaky.has(planted)) continue;
      if (real === "flaky") recall.foundCount++;
      else recall.falselyFlaky.push(`${tool} ${name}: ${planted}`);
    }
  }
  return recall;
}

/** The planted tests that are flaky by the reports of some uploads of one commit. */
async function flakyIn(
  folder: URL,
  { truth, uploads, options }: {
    truth: Record<string, Truth>;
    uploads: { files: string[]; build: string; attempt: string }[];
    options: Pick<ReportOptions, "dialects">;
  },
): Promise<Set<string>> {
  const identities: TestIdentity[] = [];
  const numbers = new Map<string, number>();
  const numberOf = (identity: TestIdentity) => {
    const key = JSON.stringify(identity);
    const known = numbers.get(key);
    if (known !== undefined) return known;
    numbers.set(key, identities.length);
    return identities.push(identity) - 1;
  };
  const runs: VersionRun[] = [];
  const negatives: NegativeResult[] = [];
  for (const [place, { files, build: buildUrl, attempt }] of uploads.entries()) {
    const { content } = await readRun(folder, files, options);
    const submissionId = String(place + 1).padStart(24, "0");
    const testNos = Int32Array.from(
      content.testHashes,
      (_, index) => numberOf(content.identityAt(index)),
    );
    attemptsOfTests(content).forEach((attempts, index) => {
      for (const { kind } of attempts) {
        if (kind !== "negative") continue;
        const testNo = testNos[index]!;
        negatives.push({ submissionId, resultNo: 0, testNo, message: "", isDisruption: false });
      }
    });
    const tests = new TestList(testNos);
    const facts = { commitOid: "c", buildUrl, job: "unit", shard: "", attempt };
    const results = new RunResults(tests, content);
    runs.push({ submissionId, recordedAt: place, tests, results, ...facts });
  }
  const groups = new Map<string, { tests: number[]; setUps: number[] }>();
  for (const [testNo, identity] of identities.entries()) {
    const group = groups.get(groupOf(identity)) ?? { tests: [], setUps: [] };
    groups.set(groupOf(identity), group);
    (isSetUp(identity) ? group.setUps : group.tests).push(testNo);
  }
  const found = findDisruptions(runs, negatives, {
    hasFile: (testNo) => identities[testNo]!.file !== "",
    setUpOf: (testNo) =>
      isSetUp(identities[testNo]!) ? groups.get(groupOf(identities[testNo]!)) : undefined,
  });
  return new Set(found.flatMap(({ test }) => {
    const name = Object.values(identities[test.testNo]!).join(" ");
    return plantedTest(name, truth) ?? [];
  }));
}

/** The rows of the table. */
export async function recallRows(): Promise<string[][]> {
  return await Promise.all(WAYS.map(async (way) => {
    const found = await recallOf(way);
    const without = await recallOf(way, { dialects: [] });
    const falselyFlaky = [...found.falselyFlaky, ...without.falselyFlaky];
    return [way.name, found.flakyCount, found.foundCount, without.foundCount, falselyFlaky.length]
      .map(String);
  }));
}

if (import.meta.main) {
  const rows = await recallRows();
  process.stdout.write(rows.map((row) => `${row.join("\t")}\n`).join(""));
  Deno.exit(rows.every((row) => row.at(-1) === "0") ? 0 : 1);
}
