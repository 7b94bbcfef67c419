import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { readFile, utimes } from "node:fs/promises";
import { join } from "node:path";
import { FAKE_TOKEN } from "../../api_client/fake_api.ts";
import {
  answer,
  type GateFixture,
  gateFixture,
  type Known,
  reportOf,
  testNamed,
} from "../gate_run/gate_fixture.ts";
import { type Ending, withoutDatabase } from "../run_in_process.ts";

const FLAKY = { quarantined: [testNamed("flaky"), testNamed("other")] };

const fixtures: GateFixture[] = [];

async function fixture(...args: Parameters<typeof gateFixture>): Promise<GateFixture> {
  const created = await gateFixture(...args);
  fixtures.push(created);
  return created;
}

/** Runs the gate for acme/shop. */
async function gate(
  { environment }: GateFixture,
  args: string[],
  more: Record<string, string> = {},
): Promise<Ending> {
  return await withoutDatabase(["gate", "--repo", "acme/shop", ...args], {
    environment: { ...environment, ...more },
  });
}

/** Arguments that write a report and end with a code. */
function around(path: string, report: string, code: number): string[] {
  return [path, "--", "sh", "-c", `printf %s "$1" > "$2"; exit ${code}`, "sh", report, path];
}

/** Runs the gate around tests that write this report and end with a code. */
async function runGate(
  known: Known,
  tests: Record<string, "passed" | "failed">,
  { code = 1, options = [] }: { code?: number; options?: string[] } = {},
): Promise<Ending> {
  const created = await fixture(known);
  const path = join(created.folder, "report.xml");
  return await gate(created, [...options, ...around(path, reportOf(tests), code)]);
}

/** A service that answers differently once the tests have run, which wait for what it says before. */
async function changing(
  before: Known,
  afterwards: (request: Request) => Response,
): Promise<{ created: GateFixture; args: string[] }> {
  const created: GateFixture = await fixture(before, (request) => {
    if (existsSync(path)) return afterwards(request);
    const isLast = before.quarantined.length === 0 || request.url.includes("/verdicts?");
    if (isLast) writeFileSync(answered, "");
    return answer(request, before);
  });
  const path = join(created.folder, "report.xml");
  const answered = join(created.folder, "answered");
  // For 10 seconds at most.
  const script = 'i=0; while [ ! -e "$3" ] && [ $i -lt 100 ]; do sleep 0.1; i=$((i + 1)); done; ' +
    'printf %s "$1" > "$2"; exit 1';
  const report = reportOf({ flaky: "failed", good: "passed" });
  return { created, args: [path, "--", "sh", "-c", script, "sh", report, path, answered] };
}

afterEach(async () => {
  for (const created of fixtures.splice(0)) await created.close();
});

describe("gate around a command, and the quarantined tests", () => {
  it("counts an entry that was added while the tests ran", async () => {
    const { created, args } = await changing(
      { quarantined: [] },
      (request) => answer(request, FLAKY),
    );
    const { code, stdout } = await gate(created, args);
    assert.equal(code, 0, stdout);
  });

  it("does not count one that was removed", async () => {
    const { created, args } = await changing(
      FLAKY,
      (request) => answer(request, { quarantined: [] }),
    );
    assert.equal((await gate(created, args)).code, 1);
  });

  it("uses what the service said before the tests, with the causes, when it is away afterwards", async () => {
    const { created, args } = await changing(FLAKY, () => new Response(null, { status: 401 }));
    const { code, stdout, stderr } = await gate(created, args);
    assert.equal(code, 0, stdout);
    assert.match(stderr, /^gate: /m);
    const known = { quarantined: [{ ...testNamed("flaky"), causes: ["0123456789abcdef"] }] };
    const other = await changing(known, () => new Response(null, { status: 401 }));
    const ending = await gate(other.created, other.args);
    assert.deepEqual([ending.code, /quarantined, new cause/.test(ending.stdout)], [1, true]);
  });
});

describe("gate on a terminal", () => {
  it("prints lines of its width, without cells that are empty", async () => {
    const { environment, folder } = await fixture({ quarantined: [] });
    const path = join(folder, "report.xml");
    const args = around(path, reportOf({ a: "failed" }), 1);
    const { stdout } = await withoutDatabase(["gate", "--repo", "acme/shop", ...args], {
      environment,
      columns: 40,
    });
    assert.doesNotMatch(stdout, /\t/);
    const lines = stdout.trim().split("\n");
    for (const line of lines) assert.ok(line.length <= 40, line);
    assert.ok(lines.some((line) => line.startsWith("  ")), stdout);
  });
});

describe("gate around a command", () => {
  it("is green when every failed test is quarantined", async () => {
    const { code, stdout, stderr } = await runGate(FLAKY, { flaky: "failed", good: "passed" });
    assert.equal(code, 0, stderr);
    assert.deepEqual(stdout.trim().split("\n").map((line) => line.split("\t").slice(0, 2)), [
      ["1 test failed: it is not yours."],
      ["quarantined", "shop > Cart > flaky (cart.ts)"],
      ["excused", "1"],
      [
        "note",
        "not checked whether all tests ran: the service knows fewer than 3 runs of this job on the " +
        "base branch (--job)",
      ],
      ["exit code 0", "instead of 1: the failed test is quarantined"],
    ]);
    assert.equal(stderr, "");
  });

  it("is red when another test failed too", async () => {
    const known = {
      quarantined: [testNamed("flaky")],
      verdicts: [{
        ...testNamed("shaky"),
        verdict: "flaky" as const,
        disruptiveness_ratio: 0.125,
        recent_nondeterministic_negative_result: {
          recorded_at: "2026-01-31T08:00:00Z",
          build_url: "https://ci.example.com/builds/7",
        },
      }],
    };
    const { code, stdout } = await runGate(known, {
      flaky: "failed",
      shaky: "failed",
      broken: "failed",
    });
    assert.equal(code, 1);
    assert.deepEqual(stdout.trim().split("\n"), [
      "3 tests failed: 1 is probably yours, 2 are not.",
      "quarantined\tshop > Cart > flaky (cart.ts)\t0 %\t\t\tnot yours: it also passed on the same code",
      "flaky\tshop > Cart > shaky (cart.ts)\t12.5 %\t2026-01-31T08:00:00Z\t" +
      "https://ci.example.com/builds/7\tnot yours: it also passed on the same code",
      "new\tshop > Cart > broken (cart.ts)\t\t\t\t" +
      "probably yours: never failed in 0 runs on the base branch",
      "exit code 1\t2 of 3 failed tests are not quarantined",
    ]);
  });

  it("says of a new test that no upload names its branch, where the service knows no base branch", async () => {
    const known = { quarantined: [], earlier: { base_branch: "" } };
    const verdicts = [{ ...testNamed("fresh"), evidence: "new_test", blame: "yours" } as const];
    const { stdout } = await runGate({ ...known, verdicts }, { fresh: "failed" });
    assert.match(
      stdout,
      /probably yours: no upload names its branch, so there is no run to compare it with$/m,
    );
  });

  it("is as the command for a crash", async () => {
    const created = await fixture(FLAKY);
    const path = await created.write("report.xml", reportOf({ flaky: "failed" }));
    const crash = await gate(created, [path, "--", "sh", "-c", "kill -SEGV $$"]);
    assert.equal(crash.code, 139);
    assert.match(crash.stdout, /^exit code 139\tthe run was stopped by SIGSEGV/m);
    const exit = await gate(created, [path, "--", "sh", "-c", "exit 1"]);
    assert.equal(exit.code, 1);
    assert.match(exit.stdout, /report.xml is older than the start of the tests/);
  });

  it("ends as a shell does when the command cannot be run", async () => {
    const created = await fixture(FLAKY);
    const path = await created.write("report.xml", reportOf({ flaky: "failed" }));
    assert.equal((await gate(created, [path, "--", "/nowhere/pytest"])).code, 127);
    assert.equal((await gate(created, [path, "--", path])).code, 126);
  });

  it("passes arguments on as they are", async () => {
    const created = await fixture(FLAKY);
    const path = join(created.folder, "arguments");
    const words = ["a b", "$HOME", "--dry-run", "--", "*", "'", ""];
    const script = `out=$1; shift; printf '%s\\n' "$@" > "$out"`;
    await gate(created, [path, "--", "sh", "-c", script, "sh", path, ...words]);
    assert.equal(await readFile(path, "utf8"), words.map((word) => `${word}\n`).join(""));
  });

  it("stays green when the command is, whatever the service says", async () => {
    const created = await fixture(FLAKY, () => new Response(null, { status: 500 }));
    const path = join(created.folder, "report.xml");
    const { code, stderr } = await gate(created, around(path, reportOf({ a: "passed" }), 0));
    assert.equal(code, 0);
    assert.match(stderr, /^gate: The service at \S+ failed \(status 500\)[^\n]*\n$/);
  });

  it("is red for a report that was there before, in the same second too", async () => {
    const created = await fixture(FLAKY);
    const path = await created.write("report.xml", reportOf({ flaky: "failed" }));
    const { code, stdout } = await gate(created, [path, "--", "sh", "-c", "exit 1"]);
    assert.equal(code, 1);
    assert.match(stdout, /older than the start/);
  });

  it("is red for a report with an old time that came later, as from an archive", async () => {
    const created = await fixture(FLAKY);
    const old = await created.write("old", reportOf({ flaky: "failed" }));
    await utimes(old, 1_600_000_000, 1_600_000_000);
    const path = join(created.folder, "report.xml");
    const { code, stdout } = await gate(created, [
      path,
      "--",
      "sh",
      "-c",
      `cp -p "${old}" "${path}"; exit 1`,
    ]);
    assert.equal(code, 1);
    assert.match(stdout, /older than the start/);
  });

  it("is red when one of several reports was not written", async () => {
    const created = await fixture(FLAKY);
    const path = join(created.folder, "a.xml");
    const missing = join(created.folder, "b.xml");
    const { code, stdout } = await gate(created, [
      missing,
      ...around(path, reportOf({ flaky: "failed" }), 1),
    ]);
    assert.equal(code, 1);
    assert.match(stdout, /b\.xml: found nothing there/);
  });

  it("is red for a truncated report", async () => {
    const created = await fixture(FLAKY);
    const path = join(created.folder, "report.xml");
    const half = reportOf({ flaky: "failed" }).replace("</testsuite>", "");
    const { code, stdout } = await gate(created, around(path, half, 1));
    assert.equal(code, 1);
    assert.match(stdout, /a report cannot be read: \S+report\.xml:1:\d+: /);
  });

  it("is red for a failure outside of tests, in elements or totals", async () => {
    const inside = reportOf({ flaky: "failed" });
    for (
      const report of [
        inside.replace("</testsuite>", "<error/></testsuite>"),
        inside.replace('name="shop"', 'name="shop" errors="1" failures="1"'),
        inside.replace('name="shop"', 'name="shop" failures="1,000"'),
        inside.replace('name="shop"', 'name="shop" failures="many"'),
        inside.replace("</testsuite>", "<ERROR/></testsuite>"),
        inside.replace("</testcase>", "<properties><error/></properties></testcase>"),
      ]
    ) {
      const created = await fixture(FLAKY);
      const path = join(created.folder, "report.xml");
      const { code, stdout } = await gate(created, around(path, report, 1));
      assert.equal(code, 1, report);
      assert.match(stdout, /failure outside of a test/, report);
    }
  });

  it("is red for a second failure of a test that has another cause, however its element is spelled", async () => {
    const created = await fixture(FLAKY);
    const report = reportOf({ flaky: "failed" })
      .replace("</testcase>", '<Failure message="payment refused"/></testcase>');
    const path = join(created.folder, "report.xml");
    const { code, stdout } = await gate(created, around(path, report, 1));
    assert.equal(code, 1, stdout);
  });

  it("is red when a file of the folder is not read, except coverage", async () => {
    const report = reportOf({ flaky: "failed" });
    const other = "<log><entry/></log>";
    const coverage = '<coverage lines-valid="1" lines-covered="1"><packages/></coverage>';
    const cases: [script: string, code: number, reason: RegExp][] = [
      [`echo '${other}' > other.xml`, 1, /other\.xml:1:1: found <log>/],
      ["ln -s report.xml link.xml", 1, /link\.xml is a link, which is not followed/],
      ["mkdir -p ../elsewhere && ln -s ../elsewhere more", 1, /more is a link/],
      [`echo '${coverage}' > coverage.xml`, 0, /the failed test is quarantined/],
      [
        `echo '<TestRun/>' > results.trx`,
        1,
        /results\.trx is a report and was not read: a folder stands for its \*\.xml files; name it, or a pattern/,
      ],
      [
        `echo '<TestRun/>' > a.trx && touch -d 2020-01-01 a.trx`,
        0,
        /the failed test is quarantined/,
      ],
      [`echo '<html/>' > a.txt && echo '{}' > a.json`, 0, /the failed test is quarantined/],
    ];
    for (const [script, expected, reason] of cases) {
      const created = await fixture(FLAKY);
      await created.write("report.sh", report);
      const { folder } = created;
      const tests = `mkdir "${folder}/reports" && cd "${folder}/reports" && ` +
        `cp ../report.sh report.xml && ${script}; exit 1`;
      const { code, stdout } = await gate(created, [`${folder}/reports`, "--", "sh", "-c", tests]);
      assert.equal(code, expected, stdout);
      assert.match(stdout, reason);
    }
  });

  it("is red without an exit code when a report of the folder is not read", async () => {
    const created = await fixture(FLAKY);
    await created.write("report.xml", reportOf({ good: "passed" }));
    assert.equal((await gate(created, [created.folder])).code, 0);
    await created.write("results.trx", "<TestRun/>");
    const { code, stdout } = await gate(created, [created.folder]);
    assert.equal(code, 1);
    assert.match(stdout, /^exit code 1\t.*results\.trx is a report and was not read/m);
    assert.doesNotMatch(stdout, /red without/, "how the tests ended is not known");
    const named = [created.folder, join(created.folder, "results.trx")];
    assert.doesNotMatch((await gate(created, named)).stdout, /was not read/);
  });

  it("does not wait for a writer of a named pipe", async () => {
    const created = await fixture(FLAKY);
    const path = join(created.folder, "report.xml");
    const make = ["sh", "-c", `mkfifo "$1"; exit 1`, "sh", path];
    const made = await gate(created, [path, "--", ...make]);
    assert.equal(made.code, 1);
    assert.match(made.stdout, /report\.xml is a named pipe, which is not read: expected a file/);
    const after = await gate(created, [path]);
    assert.equal(after.code, 1);
    assert.match(after.stdout, /report\.xml is a named pipe, which is not read: expected a file/);
    const around = await gate(created, [path, "--", "true"]);
    assert.equal(around.code, 2);
    assert.match(
      around.stderr,
      /report\.xml" is a pipe or a device: expected files, as COMMAND writes/,
    );
  });

  it("never excuses a command that a signal ended", async () => {
    const created = await fixture(FLAKY);
    await created.write("report.sh", reportOf({ flaky: "failed" }));
    const { folder } = created;
    const script = `cp "${folder}/report.sh" "${folder}/report.xml"; kill -KILL $$`;
    const options = ["--failure-codes", "1,137", folder, "--", "sh", "-c", script];
    const { code, stdout } = await gate(created, options);
    assert.equal(code, 137);
    assert.match(stdout, /the run was stopped by SIGKILL/);
  });

  it("takes the last attempt of a test, in natural order of the reports", async () => {
    for (
      const [first, second, code] of [
        ["failed", "passed", 0],
        ["passed", "failed", 1],
      ] as const
    ) {
      const created = await fixture(FLAKY);
      await created.write("attempt_2.sh", reportOf({ retried: first, flaky: "failed" }));
      await created.write("attempt_10.sh", reportOf({ retried: second }));
      const { folder } = created;
      const script = `cd "${folder}" && cp attempt_10.sh attempt_10.xml; ` +
        "cp attempt_2.sh attempt_2.xml; exit 1";
      const { code: actual, stdout } = await gate(created, [folder, "--", "sh", "-c", script]);
      assert.equal(actual, code, stdout);
    }
  });

  it("has options for exit codes, the number of excused tests, and a trial", async () => {
    const tests = { flaky: "failed", other: "failed" } as const;
    const run = async (options: string[], code = 1) => {
      const { code: exitCode, stdout } = await runGate(FLAKY, tests, { code, options });
      return [exitCode, stdout.trim().split("\n").at(-1)];
    };
    assert.deepEqual(await run(["--failure-codes", "1,7"], 7), [
      0,
      "exit code 0\tinstead of 7: all 2 failed tests are quarantined",
    ]);
    assert.deepEqual(await run(["--max-excused", "1"]), [
      1,
      "exit code 1\t2 quarantined tests failed, more than 1 (--max-excused)",
    ]);
    assert.deepEqual(await run(["--dry-run"]), [
      1,
      "exit code 1\twould be 0 without --dry-run: all 2 failed tests are quarantined",
    ]);
  });

  it("names quarantined tests that passed, and quarantines that end within 7 days", async () => {
    const known = {
      quarantined: [
        { ...testNamed("calm"), quarantine_expires_at: "2026-02-08T12:00:00Z" },
        { ...testNamed("later"), quarantine_expires_at: "2026-02-08T12:00:01Z" },
        { ...testNamed("over"), quarantine_expires_at: "2026-02-01T12:00:00Z" },
      ],
    };
    const { stdout } = await runGate(known, { calm: "passed", over: "passed" }, { code: 0 });
    assert.deepEqual(stdout.trim().split("\n"), [
      "passed\tshop > Cart > calm (cart.ts)\tquarantined",
      "ends\tshop > Cart > calm (cart.ts)\t2026-02-08T12:00:00Z",
      "exit code 0\tthe tests passed",
    ]);
  });

  it("does not excuse a test whose quarantine has ended", async () => {
    const ended = { ...testNamed("flaky"), quarantine_expires_at: "2026-02-01T12:00:00Z" };
    const { code } = await runGate({ quarantined: [ended] }, { flaky: "failed" });
    assert.equal(code, 1);
  });

  it("prints one JSON value, and appends Markdown to a file", async () => {
    const created = await fixture(FLAKY);
    const path = join(created.folder, "report.xml");
    const summary = await created.write("summary.md", "before\n");
    const { code, stdout } = await gate(created, [
      "--json",
      "--summary",
      summary,
      ...around(path, reportOf({ flaky: "failed", "a|`b": "failed" }), 1),
    ]);
    assert.equal(code, 1);
    const { repository, exit_code, tests_exit_code, is_excused, reason, failed } = JSON.parse(
      stdout,
    );
    assert.deepEqual({ repository, exit_code, tests_exit_code, is_excused, reason }, {
      repository: "acme/shop",
      exit_code: 1,
      tests_exit_code: 1,
      is_excused: false,
      reason: "1 of 2 failed tests is not quarantined",
    });
    assert.deepEqual(
      failed.map(({ name, verdict }: Record<string, string>) => [name, verdict]),
      [["flaky", "quarantined"], ["a|`b", "new"]],
    );
    const markdown = await readFile(summary, "utf8");
    assert.match(markdown, /^before\n### Test gate: `acme\/shop`\n/);
    assert.ok(markdown.includes("| new | `` shop > Cart > a\\|`b (cart.ts) `` |"), markdown);
    const { stdout: again } = await gate(created, ["--exit-code", "1", path], {
      GITHUB_STEP_SUMMARY: summary,
      PUBLIC_URL: "https://tests.example/",
    });
    assert.match(again, /is not quarantined/);
    const both = await readFile(summary, "utf8");
    assert.equal(both.match(/### Test gate/g)?.length, 2);
    const linked = both.slice(both.lastIndexOf("### Test gate"));
    assert.match(
      linked,
      /\| quarantined \| \[`shop > .*`\]\(https:\/\/tests\.example\/tests\/[0-9a-f]{24}\)/,
    );
  });

  it("keeps the exit code when the summary cannot be written", async () => {
    const { code, stderr } = await runGate(FLAKY, { flaky: "failed" }, {
      options: ["--summary", "/nowhere/summary.md"],
    });
    assert.equal(code, 0);
    assert.match(stderr, /^gate: --summary: .*\/nowhere\/summary\.md.*: name a file/);
  });
});

describe("gate after the tests", () => {
  it("uses their exit code, or else that of the reports", async () => {
    const created = await fixture(FLAKY);
    const red = await created.write("red.xml", reportOf({ flaky: "failed" }));
    const bad = await created.write("bad.xml", reportOf({ broken: "failed" }));
    const green = await created.write("green.xml", reportOf({ flaky: "passed" }));
    const half = await created.write("half.xml", "<testsuite>");
    const ofClass = await created.write(
      "surefire-reports/TEST-shop.Cart.xml",
      reportOf({ flaky: "failed" }),
    );
    for (
      const [args, code] of [
        [["--exit-code", "1", red], 0],
        [["--exit-code", "2", red], 2],
        [["--exit-code", "0", red], 0],
        [["--exit-code", "1", bad], 1],
        [["--exit-code", "1", green], 1],
        [[red], 0],
        [[ofClass], 0],
        [["--exit-code", "1", ofClass], 1],
        [["--exit-code", "1", "--failure-codes", "1", ofClass], 0],
        [[red, bad], 1],
        [[green], 0],
        [[half], 1],
        [[join(created.folder, "none.xml")], 1],
      ] as const
    ) {
      assert.equal((await gate(created, [...args])).code, code, args.join(" "));
    }
  });
});

describe("usage errors of gate", () => {
  it("is 2 before anything runs", async () => {
    const created = await fixture(FLAKY);
    const witness = join(created.folder, "witness");
    for (
      const args of [
        [],
        ["--", "touch", witness],
        ["report.xml", "--"],
        ["--exit-code", "1", "report.xml", "--", "touch", witness],
        ["--failure-codes", "x", "report.xml", "--", "touch", witness],
        ["--max-excused", "-1", "report.xml", "--", "touch", witness],
        ["--exit-code", "256", "report.xml"],
        ["--exit-code", "", "report.xml"],
        ["--unknown", "report.xml", "--", "touch", witness],
      ]
    ) {
      const { code, stderr } = await gate(created, args);
      assert.equal(code, 2, args.join(" "));
      assert.match(stderr, /^error: .*\nTry: .* gate /);
    }
    await assert.rejects(readFile(witness));
  });
});

describe("gate without its service", () => {
  const report = reportOf({ flaky: "failed" });

  /** The outcome and the seconds it took. */
  async function without(
    handler: Parameters<typeof gateFixture>[1],
    more: Record<string, string> = {},
    options: string[] = [],
  ): Promise<Ending & { seconds: number }> {
    const created = await fixture(FLAKY, handler);
    const path = join(created.folder, "report.xml");
    const start = performance.now();
    const ending = await gate(created, [...options, ...around(path, report, 1)], more);
    return { ...ending, seconds: (performance.now() - start) / 1000 };
  }

  it("is as the command, with one line", async () => {
    const cases: [Parameters<typeof gateFixture>[1], Record<string, string>, RegExp][] = [
      [() => new Response(null, { status: 500 }), {}, /failed \(status 500\)/],
      [() => new Response(null, { status: 503 }), {}, /failed \(status 503\)/],
      [() => new Response('{"count":1,"tests":[{"su'), {}, /does not look like this service/],
      [() => Response.json({ count: 1, tests: "none" }), {}, /does not look like this service/],
      [() => new Response("<html>"), {}, /does not look like this service/],
      [undefined, { PLATFORM_API_TOKEN: "tk_ended" }, /rejected the API token \(status 401\)/],
      [undefined, { PLATFORM_API_TOKEN: "" }, /PLATFORM_API_TOKEN is missing/],
      [undefined, { PLATFORM_API_URL: "ftp://x" }, /PLATFORM_API_URL is not a base address/],
      [undefined, { PLATFORM_API_URL: "http://127.0.0.1:1" }, /cannot be reached/],
      [
        () => Response.json({ count: 3, tests: [], metadata: { after: null } }),
        {},
        /changed while it was read/,
      ],
    ];
    for (const [handler, environment, expected] of cases) {
      const { code, stdout, stderr, seconds } = await without(handler, environment);
      assert.equal(code, 1, String(expected));
      assert.match(stderr, expected);
      assert.match(stderr, /^gate: [^\n]*\n$/);
      assert.ok(!stderr.includes(FAKE_TOKEN));
      assert.match(stdout, /^\nunknown\t/);
      assert.match(stdout, /^exit code 1\tthe quarantined tests are unknown\n/m);
      assert.ok(seconds < 10, `${seconds} s`);
    }
  });

  it("names an unknown repository", async () => {
    const created = await fixture(FLAKY);
    const path = join(created.folder, "report.xml");
    const { code, stderr } = await withoutDatabase(
      ["gate", "--repo", "acme/none", ...around(path, report, 1)],
      { environment: created.environment },
    );
    assert.equal(code, 1);
    assert.equal(
      stderr,
      "gate: Repository acme/none is unknown to the service: check --repo, or upload a report of it.\n",
    );
  });

  it("asks again at the end when the beginning failed", async () => {
    const { code, stderr } = await without((request, index) =>
      index === 0 ? new Response(null, { status: 500 }) : answer(request, FLAKY)
    );
    assert.equal(code, 0, stderr);
    assert.equal(stderr, "");
  });

  it("is red when the service stops during the tests, except with --cause any", async () => {
    const stops = (request: Request) =>
      new URL(request.url).pathname.endsWith("/verdicts")
        ? new Response(null, { status: 500 })
        : answer(request, FLAKY);
    const { code, stdout, stderr } = await without(stops);
    assert.equal(code, 1);
    assert.match(stdout, /the causes that quarantined tests are known for are unknown/);
    assert.match(stderr, /status 500/);
    const any = await without(stops, {}, ["--cause", "any"]);
    assert.equal(any.code, 0);
    assert.match(any.stdout, /^\nquarantined\t/);
  });

  it("is red when the service is killed while the list is read", async () => {
    const quarantined = Array.from({ length: 250 }, (_, index) => testNamed(`case ${index}`));
    const known = { quarantined: [testNamed("flaky"), ...quarantined] };
    const created: GateFixture = await fixture(known, (request, index) => {
      if (index === 1) void created.api.close();
      return answer(request, known);
    });
    const path = join(created.folder, "report.xml");
    const { code, stderr } = await gate(created, around(path, report, 1));
    assert.equal(code, 1);
    assert.match(stderr, /^gate: The service at \S+ cannot be reached \([^\n]*\n$/);
  });

  it("waits for 2 seconds at most when the tests passed", async () => {
    const late = Promise.withResolvers<Response>();
    const created = await fixture(FLAKY, () => late.promise);
    const path = join(created.folder, "report.xml");
    const start = performance.now();
    const { code } = await gate(created, around(path, report, 0));
    late.resolve(new Response());
    assert.equal(code, 0);
    assert.ok(performance.now() - start < 8_000);
  });

  it("reads 10,000 quarantined tests", async () => {
    const quarantined = Array.from({ length: 10_000 }, (_, index) => testNamed(`case ${index}`));
    const { code, stdout, stderr } = await runGate({ quarantined }, { "case 9999": "failed" });
    assert.equal(code, 0, stdout + stderr);
  });
});
