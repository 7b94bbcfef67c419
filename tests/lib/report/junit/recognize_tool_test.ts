import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "@std/testing/bdd";
import { attemptsOfTests } from "../../../../lib/analysis/columns.ts";
import { SubmissionBuilder } from "../../../../lib/analysis/submission_content.ts";
import { readReport } from "../../../../lib/report/read_report.ts";
import { inChunks } from "../reading.ts";

const PYTEST = 'name="pytest" errors="0" failures="1" skipped="0" tests="2" time="1" ' +
  'timestamp="2026-03-14T02:11:51" hostname="runner-1"';
const jest = (name: string) =>
  `name="${name}" errors="0" failures="1" skipped="0" timestamp="2026-03-14T02:11:51" time="1" ` +
  'tests="2"';
const gradle = (name: string) =>
  `name="${name}" tests="2" skipped="0" failures="1" errors="0" timestamp="2026-03-14T02:11:51" ` +
  'hostname="runner-1" time="1"';

/** Two cases of one name, of which the first failed. */
const FAILS_THEN_PASSES = '<testcase classname="cart" name="adds" file="cart" time="1"><failure/>' +
  '</testcase><testcase classname="cart" name="adds" file="cart" time="1"/>';

const suite = (attributes: string, inside: string) =>
  `<testsuite ${attributes}>${inside}</testsuite>`;

/** The tool, each test with the kinds of its attempts, and the notes. */
async function judge(text: string) {
  const builder = new SubmissionBuilder();
  const { tool } = await readReport(inChunks(new TextEncoder().encode(text), 1_000), {
    file: "r.xml",
    onResult: (result, reported) => builder.add(result, reported),
  });
  builder.endReport(tool);
  const notes: string[] = [];
  const content = builder.finish({ onNote: (note) => notes.push(note) });
  const tests: string[] = [];
  attemptsOfTests(content).forEach((attempts, index) => {
    const { suite, name } = content.identityAt(index);
    tests.push(`${suite}|${name}: ${attempts.map(({ kind }) => kind).join(", ")}`);
  });
  return { tool: tool.tool, tests: tests.sort(), notes };
}

describe("a report that was merged from those of several tools", () => {
  const OF_PYTEST = suite(PYTEST, FAILS_THEN_PASSES);
  const OF_JEST = suite(jest("cart"), FAILS_THEN_PASSES);
  const JUDGED = ["pytest|adds: negative, positive", "|adds: negative"].sort();

  it("is read by the rules of each, in whatever order", async () => {
    const merged = await judge(`<testsuites>${OF_PYTEST}${OF_JEST}</testsuites>`);
    assert.deepEqual([merged.tool, merged.tests], ["pytest and jest", JUDGED]);
    assert.match(
      merged.notes[0]!,
      /in a report of pytest and jest count as one test.*: "adds" \(2/,
    );
    const turned = await judge(`<testsuites>${OF_JEST}${OF_PYTEST}</testsuites>`);
    assert.deepEqual([turned.tool, turned.tests], ["jest and pytest", JUDGED]);
  });

  it("has no retry of a test in another suite of the same name", async () => {
    const one = (inside: string) =>
      suite(PYTEST, `<testcase classname="c" name="n">${inside}</testcase>`);
    const { tests, notes } = await judge(
      `<testsuites>${one("<failure/>")}${one("")}</testsuites>`,
    );
    assert.deepEqual(tests, ["pytest|n: negative"]);
    assert.match(notes[0]!, /"n" \(2 cases\)/);
  });

  it("after another report has its own rules", async () => {
    const builder = new SubmissionBuilder();
    for (const text of [OF_JEST.replaceAll("adds", "sums"), OF_JEST + OF_PYTEST]) {
      const bytes = new TextEncoder().encode(`<testsuites>${text}</testsuites>`);
      const { tool } = await readReport(inChunks(bytes, 1_000), {
        file: "r.xml",
        onResult: (result, reported) => builder.add(result, reported),
      });
      builder.endReport(tool);
    }
    const flaky: string[] = [];
    const content = builder.finish();
    attemptsOfTests(content).forEach((attempts, index) => {
      if (attempts.length > 1) flaky.push(content.identityAt(index).suite);
    });
    assert.deepEqual(flaky, ["pytest"]);
  });

  it("recognizes each suite by its own properties", async () => {
    const property = '<properties><property name="go.version" value="go1.22"/></properties>';
    const { tool } = await judge(
      `<testsuites>${
        suite('name="shop/cart"', property + FAILS_THEN_PASSES)
      }${OF_JEST}</testsuites>`,
    );
    assert.equal(tool, "gotestsum and jest");
  });

  it("reads a suite that no tool is known to write as the one before it", async () => {
    const other = suite('name="other"', FAILS_THEN_PASSES);
    const { tool, tests } = await judge(`<testsuites>${OF_JEST}${other}</testsuites>`);
    assert.equal(tool, "jest");
    assert.deepEqual(tests, ["|adds: negative"]);
    assert.equal((await judge(`<testsuites>${other}${OF_JEST}</testsuites>`)).tool, "jest");
  });

  it("was repeated as a whole, or declares too few tests, for each tool by itself", async () => {
    const single = [1, 2, 3, 4, 5].map((n) => `<testcase name="${n}"/>`).join("");
    const round = (...rounds: string[]) =>
      rounds.map((inside) => `<testcase name="a">${inside}</testcase>`).join("") +
      ["b", "c", "d"].map((name) => `<testcase name="${name}"/>`.repeat(rounds.length)).join("");
    const rounds = suite(PYTEST.replace('tests="2"', 'tests="8"'), round("", "<failure/>"));
    const { tests } = await judge(
      `<testsuites>${suite(jest("cart").replace('tests="2"', 'tests="1"'), single)}${rounds}` +
        "</testsuites>",
    );
    assert.deepEqual(
      tests.filter((test) => test.startsWith("pytest")),
      ["a: positive, negative", ..."bcd".split("").map((name) => `${name}: positive, positive`)]
        .map((test) => `pytest|${test}`),
    );
  });

  describe("of two configurations has no rounds of a run that was repeated", () => {
    const run = (ends: string) =>
      ["a", "b", "c", "d"].map((name) =>
        `<testcase classname="cart" name="${name}" time="1">${name === "a" ? ends : ""}</testcase>`
      ).join("");
    const FAILS = "<failure/>";
    const playwright = (more = "") =>
      'name="cart" timestamp="2026-03-14T02:11:51Z" hostname="one" tests="4" failures="1" ' +
      `skipped="0" time="1" errors="0"${more}`;
    const property = (name: string, value: string) =>
      `<properties><property name="${name}" value="${value}"/></properties>`;
    const GO = 'tests="4" failures="1" time="1" name="cart"';
    const of = (one: string, other: string, ...properties: string[]) =>
      `<testsuites>${suite(one, (properties[0] ?? "") + run(FAILS))}` +
      `${suite(other, (properties[1] ?? "") + run(""))}</testsuites>`;
    const cases: [string, string][] = [
      ["an unknown tool", of('name="s"', 'name="s"')],
      ["an unknown tool, in one suite", `<testsuite name="s">${run(FAILS)}${run("")}</testsuite>`],
      ["jest", of(jest("cart"), jest("cart"))],
      ["pytest", of(PYTEST, PYTEST)],
      ["pytest, in one suite", suite(PYTEST, run(FAILS) + run(""))],
      ["Go", of(GO, GO, property("go.version", "go1.22"), property("go.version", "go1.23"))],
      ["Playwright, at another time", of(playwright(), playwright().replace(":51Z", ":52Z"))],
      ["Playwright, elsewhere", of(playwright(), playwright(' package="other"'))],
      [
        "Playwright, with properties",
        of(playwright(), playwright(), property("node", "22"), property("node", "24")),
      ],
      [
        "Playwright, of several suites",
        `<testsuites>${
          [FAILS, ""].map((ends) =>
            suite(playwright(), run(ends)) +
            suite(playwright().replaceAll("cart", "till"), run("").replaceAll("cart", "till"))
          ).join("")
        }</testsuites>`,
      ],
    ];
    for (const [what, report] of cases) {
      it(what, async () => {
        const { tests } = await judge(report);
        assert.match(tests.find((test) => test.includes("a:"))!, /a: negative$/);
      });
    }

    it("but Playwright's repeated suites, one after the other", async () => {
      const { tests } = await judge(of(playwright(), playwright()));
      assert.equal(tests[0], "cart|[one] a: negative, positive");
    });
  });

  it("has a bounded number of changes of the tool", async () => {
    const text = `<testsuites>${(OF_JEST + OF_PYTEST).repeat(600)}</testsuites>`;
    const { tool } = await judge(text);
    assert.equal(tool, "jest and pytest");
  });
});

describe("tests of pytest in a file test.py", () => {
  it("are not those of node:test, which writes the class `test`", async () => {
    const { tool, tests } = await judge(
      `<testsuites>${suite(PYTEST, FAILS_THEN_PASSES.replaceAll('"cart"', '"test"'))}</testsuites>`,
    );
    assert.deepEqual([tool, tests], ["pytest", ["pytest|adds: negative, positive"]]);
  });
});

describe("a suite with the name of another tool", () => {
  const CASES = [
    ["jest", jest("pytest")],
    ["jest", jest("Cucumber")],
    ["jest", jest("cart.bats")],
    ["jest", jest("Elixir.Cart")],
    ["jest", jest("rspec")],
    ["gradle", gradle("Cucumber")],
    ["gradle", gradle("cucumber-js")],
    ["", 'name="pytest" tests="2" assertions="2"'],
    ["", 'name="cucumber" tests="2" hostname="a"'],
    [
      "cucumber",
      'name="Cucumber" time="1" tests="2" skipped="0" failures="1" errors="0" timestamp=""',
    ],
  ];
  for (const [tool, attributes] of CASES) {
    it(`is one of ${tool || "no known tool"}: ${attributes!.split(" ", 1)}`, async () => {
      const judged = await judge(
        `<testsuites>${suite(attributes!, FAILS_THEN_PASSES)}</testsuites>`,
      );
      assert.equal(judged.tool, tool);
    });
  }
});

describe("a report whose outermost element lost its attributes, as in a merged one", () => {
  const LABORATORY = new URL("../../../../fixtures/laboratory/", import.meta.url);
  const reports = readdirSync(LABORATORY, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".xml") && !name.startsWith("nunit")).sort();

  it("is recognized all the same", async () => {
    const changed: string[] = [];
    for (const name of reports) {
      const whole = await Deno.readTextFile(new URL(name, LABORATORY));
      const { tool } = await judge(whole);
      const suites = whole.replace(/<\?xml.*?\?>/, "").replace(/<testsuites[^>]*>/, "")
        .replace(/<\/testsuites>\s*$/, "");
      const merged = await judge(`<testsuites tests="1" failures="0">${suites}</testsuites>`);
      if (merged.tool !== tool) changed.push(`${name}: ${tool} as ${merged.tool}`);
    }
    assert.deepEqual(changed, []);
  });
});

describe("the machine that ran the tests", () => {
  const PLAYWRIGHT = suite(
    'name="a.js" timestamp="" hostname="chromium" tests="1" failures="0" skipped="0" time="1" errors="0"',
    '<testcase name="a" classname="a.js" time="1"/>',
  );
  const named = (hostname: string) =>
    suite(`name="a" hostname="${hostname}"`, '<testcase name="a"/>');

  async function machineOf(...reports: string[]) {
    const builder = new SubmissionBuilder();
    for (const text of reports) {
      const { tool } = await readReport(inChunks(new TextEncoder().encode(text), 1_000), {
        file: "r.xml",
        onResult: (result, reported) => builder.add(result, reported),
      });
      builder.endReport(tool);
    }
    return builder.finish().hostname;
  }

  it("is the one that all suites name", async () => {
    assert.equal(await machineOf(named("agent-7"), named("agent-7")), "agent-7");
    assert.equal(await machineOf(named("agent-7"), named("agent-8")), undefined);
    assert.equal(
      await machineOf(`<testsuites>${named("agent-7")}${named("agent-8")}</testsuites>`),
      undefined,
    );
  });

  it("is unknown where tools write a placeholder, or their project", async () => {
    for (const text of [named("localhost"), named(""), named("tbd"), PLAYWRIGHT]) {
      assert.equal(await machineOf(text), undefined, text);
    }
  });
});
