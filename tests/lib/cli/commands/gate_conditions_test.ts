/** The conditions of the gate that depend on earlier runs: causes, whole runs, mass failures. */
import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { MORE_CAUSES } from "../../../../lib/analysis/failure_causes.ts";
import { fingerprint } from "../../../../lib/analysis/failure_groups.ts";
import {
  answer,
  type GateFixture,
  gateFixture,
  type Known,
  reportOf,
  SEEN_CAUSE,
  testNamed,
} from "../gate_run/gate_fixture.ts";
import { type Ending, withoutDatabase } from "../run_in_process.ts";

const FLAKY: Known = { quarantined: [testNamed("flaky")] };
const USUAL = {
  expected_test_count: 12,
  base_test_counts: [12, 12, 12],
  expected_skipped_count: 0,
};

const fixtures: GateFixture[] = [];

afterEach(async () => {
  for (const created of fixtures.splice(0)) await created.close();
});

/** Runs the gate after tests that ended with 1 and wrote a report. */
async function gate(
  known: Known,
  report: string,
  { options = [], environment = {}, requests = [] }: {
    options?: string[];
    environment?: Record<string, string>;
    /** Gets the requests. */
    requests?: URL[];
  } = {},
): Promise<Ending> {
  const created = await gateFixture(known, (request) => {
    requests.push(new URL(request.url));
    return answer(request, known);
  });
  fixtures.push(created);
  const path = await created.write("report.xml", report);
  const args = ["gate", "--repo", "acme/shop", "--exit-code", "1", ...options, path];
  return await withoutDatabase(args, { environment: { ...created.environment, ...environment } });
}

/** A report with one failed test and others that passed. */
function reportWith({ passed, failed = ["flaky"], skipped = 0, declared }: {
  passed: number;
  failed?: string[];
  skipped?: number;
  declared?: number;
}): string {
  const tests = Object.fromEntries([
    ...failed.map((name) => [name, "failed"]),
    ...Array.from({ length: passed }, (_, index) => [`good ${index}`, "passed"]),
  ]);
  const rest = '<testcase classname="Cart" name="skipped"><skipped/></testcase>';
  const total = declared === undefined ? "" : ` tests="${declared}"`;
  return reportOf(tests).replace("<testsuite ", `<testsuite${total} `)
    .replace(
      "</testsuite>",
      Array.from({ length: skipped }, (_, index) => rest.replace('skipped"', `skipped ${index}"`))
        .join("") + "</testsuite>",
    );
}

describe("a quarantined test with several failures", () => {
  const known: Known = { ...FLAKY, earlier: USUAL };
  const flaky = /<testcase[^>]*name="flaky"[^>]*>.*?<\/testcase>/s;
  const seen = 'message="expected 1, found 2"';
  const other = 'message="the total is wrong"';

  for (
    const [what, change] of [
      ["in one case", (one: string) => one.replace("<failure", `<failure ${other}/><failure`)],
      [
        "after another",
        (one: string) => one.replace("</testcase>", `<failure ${other}/></testcase>`),
      ],
      ["of two kinds", (one: string) =>
        one.replace("</testcase>", `<error ${seen}/></testcase>`)
          .replace(seen, other)],
      ["in two cases, as in call and tear-down", (one: string) => one.replace(seen, other) + one],
    ] as const
  ) {
    it(`is not excused for a new cause ${what}`, async () => {
      const whole = reportWith({ passed: 11 });
      assert.equal((await gate(known, whole)).code, 0);
      const report = whole.replace(flaky, change).replace(/ (?:tests|failures|errors)="\d+"/g, "");
      assert.notEqual(report, whole);
      const { code, stdout } = await gate(known, report);
      assert.equal(code, 1, report);
      assert.match(stdout, /^quarantined, new cause\t/m);
    });
  }
});

describe("gate and a file that did not load", () => {
  const known: Known = {
    ...FLAKY,
    earlier: {
      ...USUAL,
      expected_files: [{ file: "cart.ts", class: "Cart" }, { file: "pay.ts", class: "Pay" }],
    },
  };

  it("excuses nothing, and says so before everything else", async () => {
    const requests: URL[] = [];
    const { code, stdout } = await gate(known, reportWith({ passed: 11 }), { requests });
    assert.equal(code, 1);
    assert.match(
      stdout,
      /^not whole\t1 test process ended without a report, .*: pay\.ts\n1 test failed/,
    );
    assert.match(stdout, /^exit code 1\t1 test process ended without a report/m);
    assert.equal(requests.at(-1)!.searchParams.get("expected_files"), "true");
  });

  it("excuses nothing without a suite, where tests have neither file nor class", async () => {
    const usual = { ...USUAL, expected_files: [{ file: "", class: "", suite: "pay" }] };
    const { code, stdout } = await gate({ ...FLAKY, earlier: usual }, reportWith({ passed: 11 }));
    assert.equal(code, 1);
    assert.match(stdout, /^exit code 1\t1 test process ended without a report, .*: pay$/m);
  });

  it("excuses as before where the service knows no files", async () => {
    const { code } = await gate({ ...known, earlier: USUAL }, reportWith({ passed: 11 }));
    assert.equal(code, 0);
  });
});

describe("gate after a crash", () => {
  it("says that it ended red without a failed test", async () => {
    const { code, stdout } = await gate(FLAKY, reportOf({ good: "passed" }));
    assert.equal(code, 1);
    assert.match(stdout, /^red without a failed test\texit code 1\n/);
  });
});

describe("gate and the cause of a failure", () => {
  const known = (causes: string[]): Known => ({
    quarantined: [{ ...testNamed("flaky"), causes }],
  });

  it("excuses one that was seen among the disruptions of the test", async () => {
    const { code } = await gate(known(["0000000000000000", SEEN_CAUSE]), reportWith({ passed: 1 }));
    assert.equal(code, 0);
  });

  it("does not excuse a new one, and says so", async () => {
    const { code, stdout } = await gate(known(["0000000000000000"]), reportWith({ passed: 1 }));
    assert.equal(code, 1);
    assert.deepEqual(stdout.trim().split("\n"), [
      "1 test failed: it is not yours.",
      "quarantined, new cause\tshop > Cart > flaky (cart.ts)\t0 %\t\t\t" +
      "not yours: it also passed on the same code",
      "exit code 1\tthe failed test is quarantined, but failed for a new cause (--cause)",
    ]);
    const json = await gate(known([]), reportWith({ passed: 1 }), { options: ["--json"] });
    const { failed: [test] } = JSON.parse(json.stdout);
    assert.equal(test.verdict, "quarantined, new cause");
    assert.equal(test.fingerprint, SEEN_CAUSE);
  });

  it("excuses a test without a file if the service knows it with one, and not by itself", async () => {
    const test = testNamed("flaky");
    const report = reportWith({ passed: 12 }).replaceAll(' file="cart.ts"', "");
    const quarantined = [{ ...test, alias: { ...test, file: "" } }];
    const { code, stdout } = await gate({ quarantined }, report);
    assert.match(stdout, /\nquarantined\tshop > Cart > flaky\t/);
    assert.equal(code, 0);
    const unknown = await gate(FLAKY, report);
    assert.match(unknown.stdout, /\nnew\t/);
    assert.equal(unknown.code, 1);
  });

  it("excuses any with --cause any", async () => {
    const options = ["--cause", "any"];
    assert.equal((await gate(known([]), reportWith({ passed: 1 }), { options })).code, 0);
    const wrong = await gate(FLAKY, reportWith({ passed: 1 }), { options: ["--cause", "none"] });
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /--cause: invalid value "none": expected one of seen, any/);
  });
});

describe("gate after the tests, and a report that is older than the job", () => {
  const environment = { GITLAB_CI: "true", CI_JOB_STARTED_AT: "2026-11-28T09:00:00Z" };
  const written = (timestamp: string) =>
    reportOf({ flaky: "failed" }).replace("<testsuite ", `<testsuite timestamp="${timestamp}" `);

  it("excuses nothing, as the job may have ended before its tests ran", async () => {
    const stale = await gate(FLAKY, written("2026-11-27T09:00:00Z"), { environment });
    assert.equal(stale.code, 1);
    assert.match(
      stale.stdout,
      /^exit code 1\t\S+report\.xml is of 2026-11-27T09:00:00Z, before the job began \(2026-11-28T/m,
    );
    assert.doesNotMatch(stale.stdout, /flaky|excused/);
    const fresh = await gate(FLAKY, written("2026-11-28T09:05:00Z"), { environment });
    assert.equal(fresh.code, 0, fresh.stdout);
  });

  it("does not take it for a run that passed", async () => {
    const failed = written("2026-11-27T09:00:00Z");
    const passed = failed.replace(/<failure[^>]*>/, "");
    const created = await gateFixture(FLAKY, (request) => answer(request, FLAKY));
    fixtures.push(created);
    const args = ["gate", "--repo", "acme/shop", await created.write("report.xml", passed)];
    const options = { environment: { ...created.environment, ...environment } };
    assert.equal((await withoutDatabase(args, options)).code, 1);
    const fresh = await created.write("fresh.xml", reportOf({ good: "passed" }));
    // Of a module that did not run, as with a build cache.
    assert.equal((await withoutDatabase([...args, fresh], options)).code, 0);
    await created.write("report.xml", failed);
    assert.equal((await withoutDatabase([...args, fresh], options)).code, 1);
  });
});

describe("gate and a run that is not whole", () => {
  const known: Known = { ...FLAKY, earlier: USUAL };

  it("excuses a run with as many tests as usual", async () => {
    const { code, stdout } = await gate(known, reportWith({ passed: 11 }));
    assert.equal(code, 0);
    assert.doesNotMatch(stdout, /note/);
  });

  it("does not excuse one that stopped early", async () => {
    const { code, stdout } = await gate(known, reportWith({ passed: 3 }));
    assert.equal(code, 1);
    assert.match(stdout, /^exit code 1\t4 of about 12 tests ran \(--max-missing\)$/m);
    const lenient = { options: ["--max-missing", "70%"] };
    assert.equal((await gate(known, reportWith({ passed: 3 }), lenient)).code, 0);
    const wrong = await gate(known, reportWith({ passed: 3 }), { options: ["--max-missing", "x"] });
    assert.match(wrong.stderr, /--max-missing: invalid number "x"/);
  });

  it("says it of one without a test that ended green, whatever is known of earlier runs", async () => {
    for (
      const [earlier, text] of [[USUAL, "0 of about 12 tests ran"], [{}, "no test ran"]] as const
    ) {
      const options = { options: ["--exit-code", "0"] };
      const { code, stdout } = await gate({ ...FLAKY, earlier }, "<testsuites/>", options);
      assert.deepEqual([code, stdout.split("\n").slice(0, 2)], [0, [
        `not whole\t${text}`,
        "exit code 0\tthe tests ended with 0, although no test ran",
      ]]);
    }
  });

  it("says which test has an unknown outcome, also where the tests ended green", async () => {
    const crashed = reportWith({ passed: 1 })
      .replace("</testsuite>", '<testcase name="crash" status="crashed"/></testsuite>');
    const said = /^not whole\tthe outcome of 1 test is unknown: .*crash/;
    const green = await gate(FLAKY, crashed, { options: ["--exit-code", "0"] });
    assert.deepEqual([green.code, said.test(green.stdout)], [0, true], green.stdout);
    const red = await gate(FLAKY, crashed);
    assert.equal(red.code, 1);
    assert.match(red.stdout, /^exit code 1\tthe outcome of 1 test is unknown: .*crash/m);
  });

  it("does not excuse one in which tests were skipped that ran before", async () => {
    const { code, stdout } = await gate(known, reportWith({ passed: 11, skipped: 3 }));
    assert.equal(code, 1);
    assert.match(stdout, /3 tests skipped, usually 0/);
  });

  it("does not excuse a suite that declares more tests than it lists", async () => {
    const { code, stdout } = await gate(FLAKY, reportWith({ passed: 1, declared: 4 }));
    assert.equal(code, 1);
    assert.match(
      stdout,
      /does not list all tests: \S+report.xml:1:\d+: 4 tests in the totals, 2 listed/,
    );
  });

  it("asks for the job of the CI service, unless another is given", async () => {
    const requests: URL[] = [];
    const environment = {
      CIRCLECI: "true",
      CIRCLE_JOB: "unit",
      CIRCLE_NODE_INDEX: "1",
      CIRCLE_NODE_TOTAL: "4",
    };
    const asked = () => {
      const { searchParams } = requests.findLast(({ pathname }) => pathname.endsWith("verdicts"))!;
      return ["run_job", "run_environment", "run_shard", "base"].map((name) =>
        searchParams.get(name) ?? ""
      );
    };
    await gate(known, reportWith({ passed: 11 }), { environment, requests });
    assert.deepEqual(asked(), ["unit", "", "2/4", ""]);
    const options = ["--job", "e2e", "--environment", "firefox", "--base", "trunk"];
    await gate(known, reportWith({ passed: 11 }), { environment, requests, options });
    assert.deepEqual(asked(), ["e2e", "firefox", "2/4", "trunk"]);
  });
});

describe("gate and a failure with many causes", () => {
  it("asks with five of them, the last one for all others, which nothing is known for", async () => {
    const requests: URL[] = [];
    const words = ["red", "green", "blue", "black", "white", "brown"];
    const causesOf = async (messages: string[]) => {
      const failures = messages.map((message) => `<failure message="it is ${message}"/>`).join("");
      const report = `<testsuite name="s"><testcase name="t">${failures}</testcase></testsuite>`;
      await gate({ quarantined: [] }, report, { requests });
      const { searchParams } = requests.findLast(({ pathname }) => pathname.endsWith("verdicts"))!;
      return searchParams.get("tests")!.split(":")[1]!.split(".");
    };
    const five = await causesOf(words.slice(0, 5));
    assert.deepEqual(five.toSorted(), words.slice(0, 5).map(causeOf).sort());
    const six = await causesOf(words);
    assert.equal(six.length, 5);
    assert.equal(six.at(-1), MORE_CAUSES);
  });
});

const causeOf = (word: string) => fingerprint(`it is ${word}`);

describe("gate and a mass failure", () => {
  const run = {
    recorded_at: "2026-02-01T11:20:00Z",
    build_url: "https://ci.example/9",
    branch: "topic",
    failed_test_count: 30,
    ran_test_count: 100,
  };
  const failed = Array.from({ length: 8 }, (_, index) => `broken ${index}`);

  it("is said to be one, names other runs, and excuses nothing", async () => {
    const known: Known = {
      quarantined: failed.map(testNamed),
      earlier: { outage: { runs: [run] }, mass_failure: "outage" as const },
    };
    const { folder } = fixtures[fixtures.push(await gateFixture(known)) - 1]!;
    const summary = join(folder, "summary.md");
    const report = reportWith({ passed: 17, failed });
    const { code, stdout } = await gate(known, report, { options: ["--summary", summary] });
    assert.equal(code, 1);
    const lines = stdout.trim().split("\n");
    assert.deepEqual(lines.slice(0, 3), [
      "8 tests failed: 8 are not yours.",
      "outage\t8 of 25 tests failed, so the change is probably not the cause; 1 other run of the last " +
      "two hours failed like this",
      "many failed elsewhere\t30 of 100 tests\ttopic\t2026-02-01T11:20:00Z\thttps://ci.example/9",
    ]);
    assert.match(lines.at(-1)!, /^exit code 1\tan outage: 8 of 25 tests failed/);
    assert.match(await Deno.readTextFile(summary), /\*\*Outage\*\*: 8 of 25 tests failed/);
  });

  it("leaves out the run itself, which may be uploaded already", async () => {
    const known: Known = {
      quarantined: [],
      earlier: { outage: { runs: [run] }, mass_failure: "outage" as const },
    };
    const environment = {
      BUILDKITE: "true",
      BUILDKITE_BUILD_URL: run.build_url,
      BUILDKITE_COMMIT: "0".repeat(40),
    };
    const { stdout } = await gate(known, reportWith({ passed: 17, failed }), { environment });
    assert.match(stdout, /no other run of the last two hours failed like this/);
  });
});
