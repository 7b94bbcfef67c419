import { describe, it } from "@std/testing/bdd";
import type { MassFailure } from "../../../lib/evidence/evidence.ts";
import assert from "node:assert/strict";
import fc from "fast-check";
import type { TestIdentity } from "../../../lib/base/identity.ts";
import {
  decideExitCode,
  type EarlierRuns,
  type FailedTest,
  type GateInput,
  type GateReport,
  identityKey,
  type QuarantinedTest,
} from "../../../lib/gate/rule.ts";

const NOW = 1_769_947_200;
const BEFORE = "2026-02-01T11:59:59Z";
const THIS_SECOND = "2026-02-01T12:00:00Z";
const AFTER = "2026-02-01T12:00:01Z";

const PAYS: TestIdentity = { suite: "shop", class: "Cart", name: "pays", file: "cart.ts" };
const ADDS: TestIdentity = { suite: "shop", class: "Cart", name: "adds", file: "cart.ts" };
const NEW: TestIdentity = { suite: "shop", class: "Cart", name: "new", file: "cart.ts" };

const PARENT: TestIdentity = { ...PAYS, name: "TestCart" };
const CHILD: TestIdentity = { ...PAYS, name: "TestCart/pays" };
const GRANDCHILD: TestIdentity = { ...PAYS, name: "TestCart/pays/twice" };

const GOOD: GateReport = {
  path: "a.xml",
  isFresh: true,
  problem: null,
  failuresOutsideTests: [],
  unlistedTests: [],
};
const STALE: GateReport = { ...GOOD, path: "old.xml", isFresh: false };
const BROKEN: GateReport = { ...GOOD, problem: "a.xml:3:1: found the end" };
const OF_CLASS: GateReport = { ...GOOD, path: "target/surefire-reports/TEST-shop.Cart.xml" };
const OUTSIDE: GateReport = {
  ...GOOD,
  failuresOutsideTests: ["a.xml:2:3: <error> outside of a <testcase>"],
};

const CUT_OFF: GateReport = {
  ...GOOD,
  unlistedTests: ["a.xml:9:1: 8 tests in the totals, 6 listed"],
};

/** What every failure looks like unless said otherwise, and what quarantined tests are known for. */
const CAUSE = "0123456789abcdef";
const OTHER_CAUSE = "fedcba9876543210";

/** The job ran 100 tests, 2 of them skipped, on the base branch. */
const USUAL = {
  expectedTestCount: 98,
  baseTestCounts: [98, 98, 99, 98],
  expectedSkippedCount: 2,
  expectedPlaces: null,
};

function listed(...tests: (TestIdentity & Partial<QuarantinedTest>)[]) {
  return new Map(tests.map((test) => [
    identityKey(test),
    { quarantine_expires_at: null, quarantine_owner: null, ...test },
  ]));
}

/** Facts in which failures and causes need not be given: those of quarantined tests are known. */
type Changes = Omit<Partial<GateInput>, "failed" | "earlier"> & {
  failed?: (TestIdentity & Partial<FailedTest>)[];
  earlier?: Partial<EarlierRuns> | null;
};

/** One quarantined test failed, everything else is as it has to be. */
const BASIS = {
  testsExitCode: 1,
  isCodeFromReports: false,
  failureCodes: [1],
  signal: null,
  reports: [GOOD],
  failed: [PAYS],
  unclear: [],
  quarantined: listed(PAYS, ADDS),
  maxExcused: 10,
  cause: "seen" as const,
  maxMissing: 5,
  counts: { ran: 98, skipped: 2, failed: 1 },
  massFailure: null as MassFailure | null,
  missingPlaces: [],
  environment: "Linux-X64",
  now: NOW,
};

function inputWith(changes: Changes): GateInput {
  const { failed, earlier, ...input } = { ...BASIS, ...changes };
  const causes = new Map([...input.quarantined?.keys() ?? []].map((key) => [key, [CAUSE]]));
  return {
    ...input,
    failed: failed.map((test) => ({ fingerprint: CAUSE, ...test })),
    earlier: earlier === null ? null : { causes, ...USUAL, ...earlier },
  };
}

const PASSED = { testsExitCode: 0, failed: [] };

const many = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ ...PAYS, name: `case ${index}` }));

/** What differs, the exit code, and a part of the reason. */
const CASES: [title: string, changes: Changes, code: number, reason: string][] = [
  // Excused.
  ["the only failed test is quarantined", {}, 0, "the failed test is quarantined"],
  [
    "a test failed only with its subtests, all quarantined",
    {
      failed: [PAYS, CHILD, { ...PARENT, bySubtest: true }],
      quarantined: listed(PAYS, CHILD),
    },
    0,
    "all 3 failed tests are quarantined",
  ],
  [
    "a parent of a parent of a quarantined subtest",
    {
      failed: [GRANDCHILD, { ...CHILD, bySubtest: true }, {
        ...PARENT,
        bySubtest: true,
      }],
      quarantined: listed(GRANDCHILD),
    },
    0,
    "all 3 failed tests are quarantined",
  ],
  ["all failed tests are", { failed: [PAYS, ADDS] }, 0, "all 2 failed tests are quarantined"],
  ["another code means failed tests", { testsExitCode: 3, failureCodes: [3] }, 0, "quarantined"],
  ["one of several codes does", { testsExitCode: 100, failureCodes: [1, 100] }, 0, "quarantined"],
  ["there are several reports", { reports: [GOOD, { ...GOOD, path: "b.xml" }] }, 0, "quarantined"],
  ["the quarantine ends in a second", end(AFTER), 0, "quarantined"],
  ["the quarantine ends in years", end("2036-01-01T00:00:00Z"), 0, "quarantined"],
  ["as many failed as are excused", countOf(10, 10), 0, "all 10 failed tests"],
  ["one is excused and one failed", { maxExcused: 1 }, 0, "quarantined"],
  ["the list has 10,000 tests", { quarantined: listed(PAYS, ...many(10_000)) }, 0, "quarantined"],
  ["no code was named", { failureCodes: null }, 0, "quarantined"],
  ["a report of one class, with a code that was named", { reports: [OF_CLASS] }, 0, "quarantined"],
  ["an unclear test is quarantined too", { unclear: [ADDS] }, 0, "quarantined"],

  // The tests passed: nothing else matters.
  ["the tests passed", PASSED, 0, "the tests passed"],
  ["they passed, the service is away", { ...PASSED, quarantined: null }, 0, "tests passed"],
  ["they passed without a report", { ...PASSED, reports: [] }, 0, "tests passed"],
  ["they passed, a report is broken", { ...PASSED, reports: [BROKEN] }, 0, "tests passed"],
  [
    "they passed, a report has a failure",
    { ...PASSED, failed: [NEW] },
    0,
    "although 1 failed",
  ],
  ["they passed after a signal", { ...PASSED, signal: "SIGTERM" }, 0, "tests passed"],

  // The command did not end as failed tests do.
  ["usage error", { testsExitCode: 2 }, 2, "exit code 2 does not mean failed tests"],
  ["pytest without tests", { testsExitCode: 5 }, 5, "exit code 5"],
  ["not executable", { testsExitCode: 126 }, 126, "exit code 126"],
  ["unknown command", { testsExitCode: 127 }, 127, "exit code 127"],
  ["aborted", { testsExitCode: 134 }, 134, "exit code 134"],
  ["killed", { testsExitCode: 137 }, 137, "exit code 137"],
  ["killed, a named code", { testsExitCode: 137, failureCodes: [137] }, 137, "means that SIGKILL"],
  ["a crash, a named code", { testsExitCode: 139, failureCodes: [139] }, 139, "means that SIGSEGV"],
  ["interrupted, a named code", { testsExitCode: 130, failureCodes: [130] }, 130, "SIGINT ended"],
  ["hung up, a named code", { testsExitCode: 129, failureCodes: [129] }, 129, "SIGHUP ended"],
  ["a bus error, a named code", { testsExitCode: 135, failureCodes: [135] }, 135, "SIGBUS ended"],
  ["out of CPU time, a named code", { testsExitCode: 152, failureCodes: [152] }, 152, "SIGXCPU"],
  ["segmentation fault", { testsExitCode: 139 }, 139, "exit code 139"],
  ["terminated", { testsExitCode: 143 }, 143, "exit code 143"],
  ["255", { testsExitCode: 255 }, 255, "exit code 255"],
  ["1 when other codes are named", { failureCodes: [2, 3] }, 1, "expected 2 or 3"],
  ["no code means failed tests", { failureCodes: [] }, 1, "exit code 1"],
  [
    "1 may be a crash of Maven",
    { failureCodes: null, reports: [GOOD, OF_CLASS] },
    1,
    "Maven and Gradle (target/surefire-reports/TEST-shop.Cart.xml) also exit with 1 after a crash",
  ],
  ["interrupted", { signal: "SIGINT" }, 1, "stopped by SIGINT"],
  ["stopped by the CI service", { signal: "SIGTERM" }, 1, "stopped by SIGTERM"],
  ["stopped, with another code", { signal: "SIGTERM", testsExitCode: 143 }, 143, "SIGTERM"],

  // Reports.
  ["no report", { reports: [] }, 1, "no report was found"],
  ["a broken report", { reports: [BROKEN] }, 1, "a.xml:3:1: found the end"],
  ["a broken report among good ones", { reports: [GOOD, BROKEN, GOOD] }, 1, "cannot be read"],
  ["an old report", { reports: [STALE] }, 1, "old.xml is older than the start"],
  ["an old report among new ones", { reports: [GOOD, STALE] }, 1, "old.xml"],
  ["an old and broken report", { reports: [{ ...BROKEN, isFresh: false }] }, 1, "cannot be read"],
  ["a failure outside of a test", { reports: [OUTSIDE] }, 1, "<error> outside of a <testcase>"],
  ["a failure outside, in the last report", { reports: [GOOD, OUTSIDE] }, 1, "outside of a test"],
  ["no failed test", { failed: [] }, 1, "no report has a failed test"],
  [
    "a failed test passed on retry",
    { failed: [], isCodeFromReports: true },
    1,
    "every failed test passed on retry; --exit-code tells",
  ],
  ["no failed test, one unclear", { failed: [], unclear: [PAYS] }, 1, "no report has a failed"],

  // Quarantine.
  [
    "a parent has a failure of its own",
    { failed: [CHILD, PARENT], quarantined: listed(CHILD) },
    1,
    "1 of 2 failed tests is not quarantined",
  ],
  [
    "one of two subtests is not quarantined",
    {
      failed: [CHILD, { ...CHILD, name: "TestCart/adds" }, { ...PARENT, bySubtest: true }],
      quarantined: listed(CHILD),
    },
    1,
    "2 of 3 failed tests are not quarantined",
  ],
  [
    "the subtests are those of another test",
    {
      failed: [{ ...CHILD, file: "" }, { ...PARENT, bySubtest: true }],
      quarantined: listed({ ...CHILD, file: "" }),
    },
    1,
    "1 of 2 failed tests is not quarantined",
  ],
  [
    "a name that begins like another is no subtest",
    {
      failed: [{ ...PAYS, name: "TestCarts" }, { ...PARENT, bySubtest: true }],
      quarantined: listed({ ...PAYS, name: "TestCarts" }),
    },
    1,
    "1 of 2 failed tests is not quarantined",
  ],
  ["the failed test is not quarantined", { failed: [NEW] }, 1, "the failed test is not"],
  ["one of two is not", { failed: [PAYS, NEW] }, 1, "1 of 2 failed tests is not quarantined"],
  ["two of three are not", { failed: [NEW, PAYS, other("x")] }, 1, "2 of 3 failed tests are not"],
  ["nothing is quarantined", { quarantined: listed() }, 1, "the failed test is not"],
  ["the list did not come", { quarantined: null }, 1, "the quarantined tests are unknown"],
  ["another suite", { failed: [{ ...PAYS, suite: "shop2" }] }, 1, "the failed test is not"],
  ["another class", { failed: [{ ...PAYS, class: "cart" }] }, 1, "the failed test is not"],
  ["another name", { failed: [{ ...PAYS, name: "Pays" }] }, 1, "the failed test is not"],
  ["another file", { failed: [{ ...PAYS, file: "" }] }, 1, "the failed test is not"],
  ["the name with a blank", { failed: [{ ...PAYS, name: "pays " }] }, 1, "the failed test is not"],
  [
    "the same letters in other fields",
    { failed: [{ ...PAYS, suite: "shopC", class: "art" }] },
    1,
    "the failed test is not",
  ],
  ["the quarantine ended a second ago", end(BEFORE), 1, "the failed test is not"],
  ["the quarantine ends this second", end(THIS_SECOND), 1, "the failed test is not"],
  [
    "one quarantine ended, the other not",
    {
      failed: [PAYS, ADDS],
      quarantined: listed(PAYS, { ...ADDS, quarantine_expires_at: BEFORE }),
    },
    1,
    "1 of 2",
  ],
  [
    "an unclear test is not quarantined",
    { unclear: [NEW] },
    1,
    "the outcome of 1 test is unknown",
  ],

  // Causes.
  [
    "the only failed test failed for a new cause",
    { failed: [{ ...PAYS, fingerprint: OTHER_CAUSE }] },
    1,
    "the failed test is quarantined, but failed for a new cause (--cause)",
  ],
  [
    "an earlier attempt or another failure of it had a new cause",
    { failed: [{ ...PAYS, otherFingerprints: [OTHER_CAUSE] }] },
    1,
    "the failed test is quarantined, but failed for a new cause (--cause)",
  ],
  [
    "one of two failed for a new cause",
    { failed: [PAYS, { ...ADDS, fingerprint: OTHER_CAUSE }] },
    1,
    "1 of 2 failed tests failed for a new cause (--cause)",
  ],
  [
    "one failed for a new cause, one is not quarantined",
    { failed: [NEW, { ...ADDS, fingerprint: OTHER_CAUSE }] },
    1,
    "1 of 2 failed tests failed for a new cause (--cause), 1 is not quarantined",
  ],
  [
    "another cause, and any is excused",
    { failed: [{ ...PAYS, fingerprint: OTHER_CAUSE }], cause: "any" },
    0,
    "the failed test is quarantined",
  ],
  [
    "one of several causes that were seen",
    { earlier: { causes: new Map([[identityKey(PAYS), [OTHER_CAUSE, CAUSE]]]) } },
    0,
    "quarantined",
  ],
  [
    "the cause of another test",
    { earlier: { causes: new Map([[identityKey(ADDS), [CAUSE]]]) } },
    1,
    "for a new cause",
  ],
  ["a test that never was flaky", { earlier: { causes: new Map() } }, 1, "for a new cause"],
  ["the causes did not come", { earlier: null }, 1, "are unknown (--cause)"],
  ["the causes did not come, any is excused", { earlier: null, cause: "any" }, 0, "quarantined"],
  [
    "the parent of a subtest with a new cause",
    {
      failed: [{ ...CHILD, fingerprint: OTHER_CAUSE }, { ...PARENT, bySubtest: true }],
      quarantined: listed(CHILD),
    },
    1,
    "1 of 2 failed tests failed for a new cause (--cause), 1 is not quarantined",
  ],

  [
    "the quarantine is limited to other environments",
    { quarantined: listed({ ...PAYS, quarantine_environment: "Windows*,macOS-ARM64" }) },
    1,
    "the failed test is not quarantined",
  ],
  [
    "the quarantine covers this environment",
    { quarantined: listed({ ...PAYS, quarantine_environment: "Windows*,Linux-*" }) },
    0,
    "quarantined",
  ],
  [
    "the quarantine is limited to an environment, and that of the run is unknown",
    { quarantined: listed({ ...PAYS, quarantine_environment: "Linux-*" }), environment: "" },
    1,
    "the failed test is not quarantined",
  ],

  // Runs that are not whole.
  ["tests are missing", ran(93), 1, "93 of about 98 tests ran (--max-missing)"],
  ["as many are missing as may be", ran(94), 0, "quarantined"],
  ["more may be missing", { ...ran(60), maxMissing: 40 }, 0, "quarantined"],
  ["none may be missing", { ...ran(97), maxMissing: 0 }, 1, "97 of about 98 tests ran"],
  ["more tests than usual", ran(500), 0, "quarantined"],
  ["tests are skipped", ran(98, 7), 1, "7 tests skipped, usually 2 (--max-missing)"],
  ["as many are skipped as may be", ran(98, 6), 0, "quarantined"],
  ["a suite does not list all tests", { reports: [CUT_OFF] }, 1, "8 tests in the totals, 6 listed"],
  [
    "a file is missing, however many tests it has",
    { missingPlaces: [{ file: "pay.test.ts", class: "pay", suite: "" }] },
    1,
    "1 test process ended without a report, unlike the last 3 runs on the base branch: pay.test.ts",
  ],
  [
    "classes without a file are missing",
    {
      missingPlaces: [{ file: "", class: "Cart", suite: "" }, {
        file: "",
        class: "",
        suite: "Pay",
      }],
      maxMissing: 100,
    },
    1,
    "2 test processes ended without a report, unlike the last 3 runs on the base branch: Cart, Pay",
  ],
  [
    "the job is unknown",
    { ...ran(10), earlier: { expectedTestCount: null, expectedSkippedCount: null } },
    0,
    "quarantined",
  ],
  [
    "the number of tests varies",
    { ...ran(10), earlier: { baseTestCounts: [98, 40, 98, 60, 98] } },
    0,
    "quarantined",
  ],
  [
    "one run of the base branch was not whole",
    { ...ran(10), earlier: { baseTestCounts: [98, 10, 98, 98, 98] } },
    1,
    "10 of about 98",
  ],

  // Mass failures.
  [
    "more than a fifth failed",
    { counts: { ran: 98, skipped: 2, failed: 20 }, massFailure: "outage" as const },
    1,
    "an outage: 20 of 98 tests failed, the change is probably not the cause",
  ],
  ["a fifth failed", { counts: { ran: 100, skipped: 0, failed: 20 } }, 0, "quarantined"],
  [
    "most of a few tests failed",
    { counts: { ran: 19, skipped: 0, failed: 10 }, earlier: { expectedTestCount: null } },
    0,
    "quarantined",
  ],

  // Limits.
  [
    "one more failed than are excused",
    countOf(11, 10),
    1,
    "11 quarantined tests failed, more than",
  ],
  ["none are excused", { maxExcused: 0 }, 1, "more than 0"],
  ["all 2,000 tests failed", countOf(2_000, 10), 1, "2,000 quarantined tests failed"],
];

function end(quarantine_expires_at: string): Changes {
  return { quarantined: listed({ ...PAYS, quarantine_expires_at }) };
}

function countOf(count: number, maxExcused: number): Changes {
  return { failed: many(count), quarantined: listed(...many(count)), maxExcused };
}

function ran(ran: number, skipped = 2): Changes {
  return { counts: { ran, skipped, failed: 1 } };
}

function other(name: string): TestIdentity {
  return { ...NEW, name };
}

describe("the rule of the gate", () => {
  for (const [title, changes, exitCode, reason] of CASES) {
    it(`is ${exitCode}: ${title}`, () => {
      const decision = decideExitCode(inputWith(changes));
      assert.equal(decision.exitCode, exitCode);
      assert.ok(decision.reason.includes(reason), decision.reason);
      const isRed = (changes.testsExitCode ?? BASIS.testsExitCode) !== 0;
      assert.equal(decision.isExcused, isRed && exitCode === 0);
    });
  }

  it("has a table of at least 50 cases", () => assert.ok(CASES.length >= 50));
});

const text = fc.constantFrom("", "a", "b", "ab");
const test: fc.Arbitrary<TestIdentity> = fc.record({
  suite: text,
  class: text,
  name: text,
  file: text,
});
const ending = fc.constantFrom(null, BEFORE, THIS_SECOND, AFTER);
const report: fc.Arbitrary<GateReport> = fc.record({
  path: text,
  isFresh: fc.boolean(),
  problem: fc.option(text),
  failuresOutsideTests: fc.array(text, { maxLength: 1 }),
  unlistedTests: fc.oneof(fc.constant([]), fc.array(text, { maxLength: 1 })),
});
const fingerprint = fc.constantFrom(CAUSE, CAUSE, CAUSE, OTHER_CAUSE);
const count = fc.constantFrom(98, 98, 98, 99, 94, 93, 20, 0);

/** Facts of which each often is as it has to be, so that many runs are excused. */
const anyInput: fc.Arbitrary<GateInput> = fc.record({
  isCodeFromReports: fc.boolean(),
  testsExitCode: fc.constantFrom(1, 1, 0, 2, 137),
  failureCodes: fc.constantFrom([1], [1, 2], [], null),
  signal: fc.constantFrom(null, null, "SIGTERM"),
  reports: fc.oneof(fc.constantFrom([GOOD], [OF_CLASS]), fc.array(report, { maxLength: 3 })),
  failed: fc.uniqueArray(test, { maxLength: 3, selector: identityKey }),
  fingerprints: fc.array(fingerprint, { minLength: 3, maxLength: 3 }),
  others: fc.oneof(fc.constant(undefined), fc.array(fingerprint, { maxLength: 2 })),
  cause: fc.constantFrom("seen" as const, "seen" as const, "any" as const),
  maxMissing: fc.constantFrom(5, 5, 0, 100),
  counts: fc.record({
    ran: count,
    skipped: fc.constantFrom(2, 2, 2, 0, 6, 7),
    failed: fc.constantFrom(1, 1, 1, 19, 20),
  }),
  massFailure: fc.constantFrom(null, "outage" as const, "together" as const),
  earlier: fc.option(
    fc.record({
      expectedTestCount: fc.constantFrom(98, 98, null),
      baseTestCounts: fc.oneof(
        fc.constant<number[]>([98, 98, 98]),
        fc.array(count, { maxLength: 5 }),
      ),
      expectedSkippedCount: fc.constantFrom(2, 2, 2, null),
      expectedPlaces: fc.constant(null),
    }),
    { freq: 8 },
  ),
  missingPlaces: fc.oneof(
    fc.constant([]),
    fc.constant([]),
    fc.array(fc.record({ file: text, class: text, suite: text }), { maxLength: 2 }),
  ),
  environment: fc.constant(""),
  unclear: fc.oneof(fc.constant([]), fc.array(test, { maxLength: 1 })),
  maxExcused: fc.constantFrom(0, 1, 2, 10),
  now: fc.constant(NOW),
  rest: fc.array(fc.record({ test, ending }), { maxLength: 4 }),
  endings: fc.oneof(
    fc.constant([null, AFTER, null]),
    fc.array(fc.option(ending), { minLength: 3 }),
  ),
  isThere: fc.constantFrom(true, true, true, false),
}).map(({ rest, endings, isThere, fingerprints, others, earlier, counts, ...input }) => {
  const entries = rest.map(({ test, ending }) => ({ ...test, quarantine_expires_at: ending }));
  for (const [index, test] of input.failed.entries()) {
    const ending = endings[index];
    if (ending !== undefined) entries.push({ ...test, quarantine_expires_at: ending });
  }
  const causes = new Map(entries.map((test) => [identityKey(test), [CAUSE]]));
  return {
    ...input,
    // A failed test ran.
    counts: { ...counts, ran: Math.max(counts.ran, counts.failed) },
    failed: input.failed.map((one, index) => ({
      ...one,
      fingerprint: fingerprints[index]!,
      ...others && { otherFingerprints: others },
    })),
    earlier: earlier && { ...earlier, causes },
    quarantined: isThere ? listed(...entries) : null,
  };
});

/** The conditions, each in the words of the specification. */
const CONDITIONS: [string, (input: GateInput) => boolean][] = [
  [
    "a code that means failed tests",
    (f) => (f.failureCodes ?? [1]).some((one) => one === f.testsExitCode),
  ],
  ["no report of one class", (f) => f.failureCodes !== null || !f.reports.includes(OF_CLASS)],
  ["no signal", (f) => f.signal === null],
  ["a report", (f) => f.reports.length > 0],
  ["fresh reports", (f) => f.reports.every((one) => one.isFresh)],
  ["whole reports", (f) => f.reports.every((one) => one.problem === null)],
  [
    "no failure outside of a test",
    (f) => f.reports.every((one) => one.failuresOutsideTests.length === 0),
  ],
  ["a failed test", (f) => f.failed.length > 0],
  ["the list", (f) => f.quarantined !== null],
  ["only quarantined failures", (f) => f.failed.every((one) => isListed(one, f))],
  ["no unclear test", (f) => f.unclear.every((one) => isListed(one, f))],
  [
    "suites that list their tests",
    (f) => f.reports.every((one) => one.unlistedTests.length === 0),
  ],
  [
    "known causes",
    (f) =>
      f.cause === "any" || f.earlier !== null &&
        f.failed.every((t) =>
          t.fingerprint === CAUSE && (t.otherFingerprints ?? []).every((one) => one === CAUSE)
        ),
  ],
  ["a whole run", (f) => isWhole(f)],
  ["every file", (f) => f.missingPlaces.length === 0],
  ["no mass failure", (f) => f.counts.ran < 20 || f.counts.failed <= f.counts.ran / 5],
  ["few enough", (f) => f.failed.length <= f.maxExcused],
];

/** Where the service knows the job, whose number of tests does not vary by itself. */
function isWhole({ earlier, counts, maxMissing }: GateInput): boolean {
  if (earlier === null) return true;
  const { expectedTestCount: expected, expectedSkippedCount: skipped, baseTestCounts } = earlier;
  if (expected === null || skipped === null) return true;
  const allowed = expected * maxMissing / 100;
  const far = baseTestCounts.filter((one) => one < expected - allowed || one > expected + allowed);
  if (far.length > baseTestCounts.length / 4) return true;
  return counts.ran >= expected - allowed && counts.skipped - skipped <= allowed;
}

function isListed(test: TestIdentity, { quarantined }: GateInput): boolean {
  return [...quarantined?.values() ?? []].some((entry) =>
    entry.suite === test.suite && entry.class === test.class && entry.name === test.name &&
    entry.file === test.file &&
    (entry.quarantine_expires_at === null ||
      Date.parse(entry.quarantine_expires_at) > NOW * 1000)
  );
}

describe("the rule of the gate, for any input", () => {
  it("excuses failures exactly when every condition holds", () => {
    let excused = 0;
    fc.assert(
      fc.property(anyInput, (input) => {
        const { exitCode, isExcused } = decideExitCode(input);
        const missing = CONDITIONS.filter(([, holds]) => !holds(input)).map(([name]) => name);
        const isRed = input.testsExitCode !== 0;
        assert.equal(isExcused, isRed && missing.length === 0, missing.join());
        assert.equal(exitCode, isExcused ? 0 : input.testsExitCode);
        if (isExcused) excused++;
      }),
      { numRuns: 22_000, seed: 1 },
    );
    assert.ok(excused > 100, `only ${excused} were excused`);
  });

  it("notices each condition by itself", () => {
    const broken: Changes[] = [
      { failureCodes: [2] },
      { failureCodes: null, reports: [OF_CLASS] },
      { signal: "SIGINT" },
      { reports: [] },
      { reports: [STALE] },
      { reports: [BROKEN] },
      { reports: [OUTSIDE] },
      { failed: [] },
      { quarantined: null },
      { failed: [NEW] },
      { unclear: [NEW] },
      { reports: [CUT_OFF] },
      { failed: [{ ...PAYS, fingerprint: OTHER_CAUSE }] },
      ran(10),
      { missingPlaces: [{ file: "a.ts", class: "", suite: "" }] },
      { counts: { ran: 98, skipped: 2, failed: 40 } },
      { maxExcused: 0 },
    ];
    for (const [index, [name]] of CONDITIONS.entries()) {
      const input = inputWith(broken[index]!);
      const missing = CONDITIONS.filter(([, holds]) => !holds(input)).map(([name]) => name);
      assert.ok(missing.includes(name), name);
      assert.equal(decideExitCode(input).exitCode, 1, name);
    }
  });
});
