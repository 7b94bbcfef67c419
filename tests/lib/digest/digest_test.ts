import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  composeDigest,
  type DigestBroken,
  type DigestInput,
  type DisruptedTest,
} from "../../../lib/digest/digest.ts";
import { parseTimeZone } from "../../../lib/base/time_zone.ts";
import { digestMarkdown, digestSlack } from "../../../lib/digest/format.ts";

function test(
  name: string,
  [disruptions, disruptions_before, builds]: [number, number, number],
  owners: string[] = [],
): DisruptedTest {
  const id = name.padStart(24, "0");
  const identity = { suite: "shop", class: "Cart", name, file: "" };
  return {
    id,
    repository: "acme/shop",
    ...identity,
    owners,
    disruptions,
    disruptions_before,
    disruptions_in_period: builds === 0 ? 0 : disruptions,
    builds,
    is_new: disruptions > 0 && disruptions_before === 0 && name !== "again",
  };
}

const entry = (name: string, owners: string[] = []) => ({
  ...test(name, [0, 0, 0], owners),
  at: "2026-02-05T12:00:00Z",
  reason: "3 disruptions",
  owner: owners[0] ?? null,
  environment: null,
});

const FACTS: DigestInput = {
  repositories: [
    {
      repository: "acme/shop",
      now: { buildCount: 40, disruptedBuildCount: 5, hasReruns: true },
      before: { buildCount: 0, disruptedBuildCount: 0, hasReruns: false },
      outageCount: 0,
      failedWithoutTestCount: 0,
      flakyMicroseconds: 90_400_000,
      flakyMicrosecondsBefore: 30_000_000,
      redJobs: { outage: 0, together: 1, flaky: 5, failed: 2, without_test: 0 },
    },
    {
      repository: "acme/empty",
      now: { buildCount: 0, disruptedBuildCount: 0, hasReruns: false },
      before: { buildCount: 0, disruptedBuildCount: 0, hasReruns: false },
      outageCount: 0,
      failedWithoutTestCount: 0,
      flakyMicroseconds: 0,
      flakyMicrosecondsBefore: 0,
      redJobs: { outage: 0, together: 0, flaky: 0, failed: 0, without_test: 0 },
    },
  ],
  tests: [
    test("new", [1, 0, 1], ["@acme/web"]),
    test("worse", [6, 2, 4], ["@acme/web", "@acme/pay"]),
    test("calm", [0, 3, 0]),
    test("older", [2, 1, 0]),
    test("again", [1, 0, 0]),
  ],
  // A calm test, and a test of another repository, are not flaky.
  quarantinedIds: new Set(
    ["worse", "older", "calm", "other"].map((name) => test(name, [0, 0, 0]).id),
  ),
  faults: [],
  broken: [],
  flaky_without_reruns: [],
  being_proved: [],
  stopped: [],
  quarantine_began: [{ ...entry("worse", ["@acme/pay"]), ended_at: null }],
  quarantine_ends: [entry("older")],
  quarantine_may_be_released: [],
};

const HEAD = {
  organization: "acme",
  since: "2026-01-25T12:00:00Z",
  until: "2026-02-01T12:00:00Z",
};

describe("the digest", () => {
  it("lists tests that became flaky, calmed down and cost most builds", () => {
    const { repositories, groups } = composeDigest(FACTS, { ...HEAD, group_by: null });
    assert.deepEqual(repositories, [
      {
        repository: "acme/shop",
        flakiness: "12.5%",
        flakiness_before: null,
        builds: 40,
        outages: 0,
        failed_without_test: 0,
        flaky_seconds: 90,
        flaky_seconds_before: 30,
        red_jobs: { outage: 0, together: 1, flaky: 5, failed: 2, without_test: 0 },
      },
    ]);
    const names = (tests: { name: string }[]) => tests.map(({ name }) => name);
    assert.equal(groups.length, 1);
    const [group] = groups;
    assert.equal(group!.owner, null);
    assert.deepEqual(names(group!.became_flaky), ["new"]);
    assert.deepEqual(names(group!.calmed_down), ["calm"]);
    assert.deepEqual(names(group!.cost_most_builds), ["worse", "new"]);
    assert.deepEqual(names(group!.quarantine_began), ["worse"]);
    assert.deepEqual(names(group!.quarantine_ends), ["older"]);
    assert.deepEqual(group!.quarantine_may_be_released, []);
  });

  it("has a test in the group of each owner, and tests without one last", () => {
    const { groups } = composeDigest(FACTS, { ...HEAD, group_by: "owner" });
    assert.deepEqual(
      groups.map((
        { owner, cost_most_builds },
      ) => [owner, cost_most_builds.map(({ name }) => name)]),
      [["@acme/pay", ["worse"]], ["@acme/web", ["worse", "new"]], [null, []]],
    );
  });

  it("is Markdown", () => {
    assert.equal(
      digestMarkdown(composeDigest(FACTS, { ...HEAD, group_by: null })),
      `# Flaky tests of \`acme\`, 2026-01-25 to 2026-02-01

8 jobs ended red: 2 with failures that are not flaky, 5 with flaky failures only, 1 with many failures of one change alone. 0 tests are broken, 4 are flaky, 2 of them quarantined. Flaky failures cost 1 m 30 s of tests, 30 s in the period before.

## Became flaky (1)

- \`shop > Cart > new\` in \`acme/shop\`: 1 build, 1 flaky failure

## Cost most builds (1 more)

- \`shop > Cart > worse\` in \`acme/shop\`: 4 builds, 6 flaky failures; quarantined: \`3 disruptions\`, \`@acme/pay\`

## Quarantine ends (1)

- \`shop > Cart > older\` in \`acme/shop\`: quarantine ends 2026-02-05

## Calmed down (1)

- \`shop > Cart > calm\` in \`acme/shop\`

## Repositories

- \`acme/shop\`: 12.5 % of 40 builds in 14 days were flaky, no figure before; flaky failures cost 1 m 30 s of tests
`,
    );
  });

  it("is the body of a request to Slack, with names escaped", () => {
    const tests = [test("<!channel> `a` & b|c", [1, 0, 1])];
    const input = {
      ...FACTS,
      tests,
      broken: [],
      flaky_without_reruns: [],
      quarantine_began: [],
      quarantine_ends: [],
    };
    const digest = composeDigest(input, { ...HEAD, group_by: "owner" });
    const markdown = digestMarkdown(digest);
    assert.ok(markdown.includes("- `` shop > Cart > <!channel> `a` & b|c ``"), markdown);
    assert.ok(markdown.includes("\n\n## No owner\n\n### Became flaky (1)\n\n"), markdown);
    const body = JSON.parse(digestSlack(digest));
    assert.deepEqual(Object.keys(body), ["text"]);
    assert.match(body.text, /^\*Flaky tests of `acme`, 2026-01-25 to 2026-02-01\*\n/);
    const name = "• `shop &gt; Cart &gt; &lt;!channel&gt; 'a' &amp; b|c`";
    assert.ok(body.text.includes(name), body.text);
  });

  it("links to the pages of the tests where their address is known", () => {
    const digest = composeDigest({ ...FACTS, tests: [test("a|b", [1, 0, 1])] }, {
      ...HEAD,
      group_by: null,
    });
    const page = `https://tests.example/tests/${"a|b".padStart(24, "0")}`;
    assert.ok(
      digestMarkdown(digest, "https://tests.example")
        .includes(`- [\`shop > Cart > a|b\`](${page.replace("|", "%7C")}) in \`acme/shop\``),
    );
    const slack = JSON.parse(digestSlack(digest, "https://tests.example")).text;
    assert.ok(
      slack.includes(`\`shop &gt; Cart &gt; a|b\` <${page.replace("|", "%7C")}|runs> in`),
      slack,
    );
  });

  it("says to which environments a quarantine is limited", () => {
    const limited = (name: string) => ({ ...entry(name), environment: "Windows*" });
    const input = {
      ...FACTS,
      quarantine_began: [{ ...limited("worse"), ended_at: null }],
      quarantine_ends: [limited("older")],
      quarantine_may_be_released: [limited("again")],
    };
    const digest = composeDigest(input, { ...HEAD, group_by: null });
    for (const text of [digestMarkdown(digest), JSON.parse(digestSlack(digest)).text]) {
      assert.match(text, /; quarantined \(in `Windows\*` only\): `3 disruptions`\n/);
      assert.match(text, /: quarantine ends 2026-02-05 \(in `Windows\*` only\)\n/);
      assert.match(text, /: may be released \(in `Windows\*` only\)\n/);
    }
  });

  it("has the days of a time zone, and names it", () => {
    const input = {
      ...FACTS,
      quarantine_ends: [{ ...entry("older"), at: "2026-02-05T23:00:00Z" }],
    };
    const head = { ...HEAD, group_by: null, since: "2026-01-24T23:30:00Z" };
    const digest = composeDigest(input, head);
    const berlin = parseTimeZone("Europe/Berlin");
    const markdown = digestMarkdown(digest, "", berlin);
    assert.match(
      markdown,
      /^# Flaky tests of `acme`, 2026-01-25 to 2026-02-01 \(Europe\/Berlin\)\n/,
    );
    assert.match(markdown, /quarantine ends 2026-02-06/);
    assert.match(JSON.parse(digestSlack(digest, "", berlin)).text, /quarantine ends 2026-02-06/);
    assert.match(digestMarkdown(digest), /^# .*, 2026-01-24 to 2026-02-01\n/);
  });

  it("has all quiet repositories in one line", () => {
    const counts = { buildCount: 7, disruptedBuildCount: 0, hasReruns: true };
    const [shop] = FACTS.repositories;
    const quiet = Array.from({ length: 25 }, (_, index) => ({
      ...shop!,
      repository: `acme/quiet-${index}`,
      now: counts,
      before: counts,
      flakyMicroseconds: 0,
    }));
    // Its flaky failures are older than the 14 days, in a period of 30.
    const costly = { ...shop!, repository: "acme/costly", now: counts, before: counts };
    const input = { ...FACTS, repositories: [...quiet, shop!, costly] };
    const digest = composeDigest(input, { ...HEAD, group_by: null });
    const [, lines = ""] = digestMarkdown(digest, "").split("## Repositories\n\n");
    const [first, second, third, ...rest] = lines.trim().split("\n");
    assert.match(first!, /^- `acme\/shop`: 12\.5 %/);
    assert.match(second!, /^- `acme\/costly`: 0 % .*flaky failures cost 1 m 30 s/);
    assert.match(third!, /^- No flaky builds: `acme\/quiet-0`, .*`acme\/quiet-19`, and 5 more$/);
    assert.deepEqual(rest, []);
  });

  it("says no share of builds where nothing was run twice, and counts tests without reruns apart", () => {
    const counts = { buildCount: 7, disruptedBuildCount: 0, hasReruns: false };
    const never = { flakyMicroseconds: 0, now: counts, before: counts };
    const [shop] = FACTS.repositories;
    const since = null;
    const input = {
      ...FACTS,
      repositories: [{ ...shop!, ...never }],
      flaky_without_reruns: [{
        ...test("rare", [0, 0, 0]),
        failures: 1,
        failing_runs: null,
        runs: 30,
        since,
        last_run_at: HEAD.until,
      }],
    };
    const digest = composeDigest(input, { ...HEAD, group_by: null });
    // Flaky tests are the disruptive ones, as in lists and the API.
    assert.deepEqual([digest.totals.flaky_tests, digest.totals.flaky_without_reruns], [4, 1]);
    const text = digestMarkdown(digest);
    assert.match(text, /: nothing of 7 builds in 14 days was run twice$/m);
    assert.match(text, /4 are flaky, 2 of them quarantined, 1 fails now and then\./);
  });

  it("says how many of the flaky tests are quarantined, if any are", () => {
    const flaky = (tests: DisruptedTest[], quarantined: DisruptedTest[]) => {
      const quarantinedIds = new Set(quarantined.map(({ id }) => id));
      const digest = composeDigest({ ...FACTS, tests, quarantinedIds }, {
        ...HEAD,
        group_by: null,
      });
      return /[^ ]+ (?:is|are) flaky.*?\./.exec(digestMarkdown(digest))?.[0];
    };
    const [a, b] = [test("a", [1, 0, 1]), test("b", [1, 0, 1])];
    assert.equal(flaky([a, b], []), "2 are flaky.");
    assert.equal(flaky([a, b], [b]), "2 are flaky, 1 of them quarantined.");
    assert.equal(flaky([a], [a]), "1 is flaky and quarantined.");
    assert.equal(flaky([a], [b]), "1 is flaky.");
  });

  it("has repositories in which nothing was run twice in one line, if nothing else is said of them", () => {
    const counts = { buildCount: 7, disruptedBuildCount: 0, hasReruns: false };
    const [shop] = FACTS.repositories;
    const untested = Array.from({ length: 25 }, (_, index) => ({
      ...shop!,
      repository: `acme/once-${index}`,
      now: counts,
      before: counts,
      flakyMicroseconds: 0,
    }));
    const outage = { ...untested[0]!, repository: "acme/outage", outageCount: 2 };
    const before = { ...untested[0]!, repository: "acme/before", before: shop!.now };
    const input = { ...FACTS, repositories: [...untested, outage, before] };
    const digest = composeDigest(input, { ...HEAD, group_by: null });
    const [, lines = ""] = digestMarkdown(digest, "").split("## Repositories\n\n");
    assert.deepEqual(lines.trim().split("\n"), [
      "- `acme/outage`: nothing of 7 builds in 14 days was run twice; 2 builds in an outage",
      "- `acme/before`: nothing of 7 builds in 14 days was run twice, 12.5 % before",
      "- In 25 repositories nothing of 175 builds in 14 days was run twice: " +
      `${
        Array.from({ length: 20 }, (_, index) => `\`acme/once-${index}\``).join(", ")
      }, and 5 more`,
    ]);
  });

  it("counts the repositories with red jobs, not all that are listed", () => {
    const [shop] = FACTS.repositories;
    const without = { ...shop!.redJobs, together: 0, flaky: 0, failed: 0 };
    const others = ["acme/a", "acme/b"].map((repository) => (
      { ...shop!, repository, redJobs: without }
    ));
    const textOf = (repositories: DigestInput["repositories"]) =>
      digestMarkdown(composeDigest({ ...FACTS, repositories }, { ...HEAD, group_by: null }));
    assert.match(textOf([shop!, ...others]), /^8 jobs ended red in 1 of 3 repositories: /m);
    assert.match(textOf(others), /^0 jobs ended red in 2 repositories\. /m);
  });

  it("says how many flaky failures a test had in the period of its builds", () => {
    const tests = [{ ...test("late", [15, 4, 2]), disruptions_in_period: 2 }];
    const digest = composeDigest({ ...FACTS, tests }, { ...HEAD, group_by: null });
    assert.match(digestMarkdown(digest), /late.*: 2 builds, 2 flaky failures$/m);
  });

  it("has tests that fail now and then by their failure rate, over all repositories", () => {
    const rare = (name: string, [failures, runs]: [number, number], last_run_at = HEAD.until) => (
      { ...test(name, [0, 0, 0]), failures, runs, failing_runs: null, since: null, last_run_at }
    );
    const digest = composeDigest({
      ...FACTS,
      flaky_without_reruns: [
        rare("old", [30, 30], "2026-01-02T12:00:00Z"),
        rare("few", [1, 2]),
        rare("rare", [3, 300]),
        rare("often", [29, 30]),
      ],
      being_proved: [[5, 95], [60, 64], [3, 95]].map(([passes, passes_needed]) => (
        { ...test(`proof${passes}`, [0, 0, 0]), passes: passes!, passes_needed: passes_needed! }
      )),
      stopped: ["02", "09", "04"].map((day) => (
        {
          ...test(`gone${day}`, [0, 0, 0]),
          last_run_at: `2026-01-${day}T12:00:00Z`,
          was_calm: true,
        }
      )),
    }, { ...HEAD, group_by: null });
    const { flaky_without_reruns, being_proved, stopped } = digest.groups[0]!;
    const names = (tests: { name: string }[]) => tests.map(({ name }) => name);
    assert.deepEqual(names(flaky_without_reruns), ["often", "few", "rare", "old"]);
    assert.deepEqual(names(being_proved), ["proof60", "proof5", "proof3"]);
    assert.deepEqual(names(stopped), ["gone09", "gone04", "gone02"]);
    assert.match(digestMarkdown(digest), /old.*: failed in 30 of 30 runs; last run 2026-01-02$/m);
  });

  it("has broken tests that failed in the period first, then those that broke last", () => {
    const brokenTest = (name: string, to: string, more: Partial<DigestBroken> = {}) => ({
      ...test(name, [0, 0, 0]),
      runs: 5,
      failures: 5,
      failing_runs: null,
      since: to === "" ? null : { from: to, to, changes: 1 },
      last_run_at: "2026-01-31T12:00:00Z",
      has_stopped: false,
      ...more,
    });
    const broken = [
      brokenTest("quiet", "2026-01-23T12:00:00Z", { last_run_at: "2026-01-24T12:00:00Z" }),
      brokenTest("left", "2026-01-30T12:00:00Z", { has_stopped: true }),
      brokenTest("old", "2026-01-02T12:00:00Z"),
      brokenTest("ever", ""),
      brokenTest("late", "2026-01-30T12:00:00Z"),
      brokenTest("often", "2026-01-30T12:00:00Z", { failures: 9, runs: 9 }),
    ];
    const digest = composeDigest({ ...FACTS, broken }, { ...HEAD, group_by: null });
    assert.deepEqual(
      digest.groups[0]!.broken.map(({ name }) => name),
      ["often", "late", "old", "ever", "left", "quiet"],
    );
    assert.match(digestMarkdown(digest), /left.*; stopped running, last run 2026-01-31$/m);
  });

  it("has a test that fails now and then there, even after a few passes", () => {
    const rare = test("rare", [0, 0, 0]);
    const digest = composeDigest({
      ...FACTS,
      flaky_without_reruns: [{
        ...rare,
        failures: 5,
        failing_runs: null,
        runs: 20,
        since: null,
        last_run_at: HEAD.until,
      }],
      being_proved: [{ ...rare, passes: 3, passes_needed: 12 }],
    }, { ...HEAD, group_by: null });
    const text = digestMarkdown(digest);
    assert.match(
      text,
      /## Fail now and then \(1\)\n\n- .*rare.*: failed in 5 of 20 runs; 3 passes since, 12 needed/,
    );
    assert.doesNotMatch(text, /Pass again/);
  });

  it("shows characters that reverse the direction of a text", () => {
    const input = { ...FACTS, tests: [test("pays \u202eevil", [1, 0, 1])] };
    const digest = composeDigest(input, { ...HEAD, group_by: null });
    assert.match(digestMarkdown(digest), /`shop > Cart > pays \[U\+202E\]evil` in/);
    assert.match(JSON.parse(digestSlack(digest)).text, /pays \[U\+202E\]evil`/);
  });

  it("cuts long names", () => {
    const input = { ...FACTS, tests: [test("x".repeat(500), [1, 0, 1])] };
    const markdown = digestMarkdown(composeDigest(input, { ...HEAD, group_by: null }));
    assert.match(markdown, /- `shop > Cart > x{106}\.\.\.` in/);
  });

  it("names ten tests of a list, and says how many more there are", () => {
    const tests = Array.from({ length: 12 }, (_, index) => test(`t${index}`, [1, 0, 0]));
    const digest = composeDigest({ ...FACTS, tests }, { ...HEAD, group_by: null });
    assert.match(digestMarkdown(digest), /## Became flaky \(12\)\n\n(?:- `.*\n){10}- and 2 more\n/);
  });

  it("calls no test quarantined whose entry has ended or was removed", () => {
    const ended = { ...entry("worse"), ended_at: "2026-09-20T10:00:00Z" };
    const text = digestMarkdown(
      composeDigest({ ...FACTS, quarantine_began: [ended] }, { ...HEAD, group_by: null }),
    );
    assert.match(text, /worse.*; was quarantined until 2026-09-20: `3 disruptions`/);
  });

  it("says when nothing changed", () => {
    const nothing = {
      repositories: [],
      tests: [],
      quarantinedIds: new Set<string>(),
      faults: [],
      being_proved: [],
      stopped: [],
      broken: [],
      flaky_without_reruns: [],
      quarantine_began: [],
      quarantine_ends: [],
      quarantine_may_be_released: [],
    };
    assert.match(
      digestMarkdown(composeDigest(nothing, { ...HEAD, group_by: null })),
      /\n\nNothing changed\.\n\n## Repositories\n\nNo builds\.\n$/,
    );
  });

  it("counts faults: tests that fail together are one row, with the builds of all", () => {
    const tests = ["a", "b", "c"].map((name) => test(name, [3, 1, 2]));
    const [a, b] = tests as [DisruptedTest, DisruptedTest, DisruptedTest];
    const fault = { repository: "acme/shop", builds: 3, tests: [a.id, b.id] };
    const faults = [{ ...fault, grouped_by: "runs" as const }];
    const digest = composeDigest({ ...FACTS, tests, faults }, { ...HEAD, group_by: null });
    assert.deepEqual(digest.groups[0]!.faults.map(({ builds, tests }) => [builds, tests.length]), [
      [3, 2],
      [2, 1],
    ]);
    assert.match(
      digestMarkdown(digest),
      /## Cost most builds \(2\)\n\n- `shop > Cart > a` in `acme\/shop`: .*with 1 more test that fails with it, 3 builds/,
    );
    const alike = [{ ...fault, grouped_by: "cause" as const }];
    assert.match(
      digestMarkdown(
        composeDigest({ ...FACTS, tests, faults: alike }, { ...HEAD, group_by: null }),
      ),
      /with 1 more test that fails the same way, 3 builds/,
    );
  });

  it("adds up the repositories, and says what is being proved and what stopped", () => {
    const record = test("quiet", [0, 0, 0]);
    const digest = composeDigest({
      ...FACTS,
      being_proved: [{ ...record, passes: 64, passes_needed: 95 }],
      stopped: [{
        ...test("gone", [0, 0, 0]),
        last_run_at: "2026-01-30T12:00:00Z",
        was_calm: false,
      }],
    }, { ...HEAD, group_by: null });
    const { red_jobs: _, ...totals } = digest.totals;
    assert.deepEqual(totals, {
      repositories: 1,
      red_repositories: 1,
      builds: 40,
      broken_tests: 0,
      flaky_tests: 4,
      flaky_quarantined: 2,
      flaky_without_reruns: 0,
      flaky_seconds: 90,
      flaky_seconds_before: 30,
    });
    const text = digestMarkdown(digest);
    assert.match(
      text,
      /## Pass again, not proved yet \(1\)\n\n- .*quiet.*: 64 passes since, 95 needed/,
    );
    assert.match(
      text,
      /## Stopped running \(1\)\n\n- .*gone.*: last run 2026-01-30, not calm then/,
    );
  });
});
