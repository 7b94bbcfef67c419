import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { parseQuery } from "../../../lib/query/parse.ts";
import { Columns } from "./columns.ts";
import { asResult, type Attempt, builds, type HistoryShape, identities } from "./generate.ts";
import { markdown } from "./markdown.ts";
import { newQueries } from "./new_queries.ts";
import { EXAMPLE, readOptions } from "./options.ts";
import { median, medianRatio, takeTurns } from "./slices.ts";

const SHAPE: HistoryShape = {
  seed: 42,
  testCount: 400,
  buildCount: 12,
  shardCount: 3,
  disruptiveTestCount: 40,
  disruptionCount: 600,
  from: 1_790_000_000,
  until: 1_790_100_000,
};

function history(shape: HistoryShape) {
  return builds(shape).map((build) => ({ ...build, attempts: [...build.attempts] })).toArray();
}

/** Tests that failed and passed in one build, with how often they failed. */
function disruptions(attempts: Attempt[]): Map<number, number> {
  const passed = new Set(
    attempts.filter(({ conclusion }) => conclusion === "passing").map(({ test }) => test),
  );
  const failures = attempts.filter(({ test, conclusion }) =>
    conclusion === "failure" && passed.has(test)
  );
  return new Map(
    [...Map.groupBy(failures, ({ test }) => test)].map(([test, all]) => [test, all.length]),
  );
}

describe("the options of the benchmark", () => {
  it("are some sections, or all", () => {
    const args = EXAMPLE.split(" ").slice(4);
    assert.deepEqual([...readOptions(args).only], ["startup"]);
    assert.equal(readOptions([]).only.size, 13);
  });

  it("that make no sense are refused in words", () => {
    for (
      const [args, expected] of [
        [["--only", "nope"], /--only: "nope" is not a section, expected some of api,/],
        [["--only"], /--only/],
        [["--nope"], /--nope/],
        [["--markdown", "/nowhere"], /--markdown: "\/nowhere" cannot be read/],
      ] as const
    ) assert.throws(() => readOptions([...args]), expected);
  });
});

describe("the generated histories", () => {
  it("are the same for the same seed, and others for another", () => {
    assert.deepEqual(history(SHAPE), history(SHAPE));
    assert.notDeepEqual(history(SHAPE), history({ ...SHAPE, seed: 43 }));
  });

  it("have as many disruptions and disruptive tests as they should", () => {
    const found = history(SHAPE).map(({ attempts }) => disruptions(attempts));
    const counts = found.flatMap((tests) => [...tests.values()]);
    assert.equal(counts.reduce((sum, count) => sum + count, 0), SHAPE.disruptionCount);
    assert.equal(
      new Set(found.flatMap((tests) => [...tests.keys()])).size,
      SHAPE.disruptiveTestCount,
    );
  });

  it("run every test in one of the shards, and each shard again and again", () => {
    const all = history(SHAPE);
    const tests = (from: number, to: number) =>
      new Set(all.slice(from, to).flatMap(({ attempts }) => attempts.map(({ test }) => test)));
    assert.equal(tests(0, 3).size, SHAPE.testCount);
    assert.deepEqual(tests(0, 1), tests(3, 4));
  });

  it("have new durations in every build, around each test's own", () => {
    const [first, , , again] = history({ ...SHAPE, disruptionCount: 0 });
    const same = first!.attempts.filter(({ durationMicroseconds }, index) =>
      durationMicroseconds === again!.attempts[index]!.durationMicroseconds
    );
    assert.ok(same.length < first!.attempts.length / 2);
  });

  it("have failures with stack traces, a third of them new", () => {
    const texts = history(SHAPE).flatMap(({ attempts }) => attempts.map(({ body }) => body))
      .filter((body) => body !== "");
    const share = new Set(texts).size / texts.length;
    assert.ok(share > 0.25 && share < 0.4, String(share));
    const lineCounts = texts.map((text) => text.split("\n").length);
    assert.ok(
      Math.min(...lineCounts) > 4 && Math.max(...texts.map(({ length }) => length)) < 4_000,
    );
  });

  it("become the columns that the program makes of the same results", () => {
    const tests = identities(SHAPE.testCount);
    const columns = new Columns(tests);
    for (const { shard, attempts } of history(SHAPE)) {
      const builder = new SubmissionBuilder();
      for (const attempt of attempts) builder.add(asResult(attempt, tests));
      const { identityAt: expectedAt, ...content } = builder.finish();
      const { identities: _, firstResults: __, textBytes: ___, hostname: ____, ...expected } =
        content;
      const { identityAt, ...made } = columns.of(shard, attempts);
      assert.deepEqual(made, expected);
      assert.deepEqual(identityAt(7), expectedAt(7));
    }
  });
});

describe("the new queries", () => {
  const queries = newQueries();
  const asked = Array.from({ length: 3_000 }, () => queries.next().value);

  it("are all different, and all of them queries", () => {
    assert.equal(new Set(asked).size, asked.length);
    for (const query of asked) assert.ok(parseQuery(query).terms.length > 0, query);
  });

  it("find few tests, many or none, as those of people do", () => {
    // Every tenth of 20,000 is flaky; one text for each, in lower case.
    const tests = identities(20_000).filter((_, number) => number % 10 === 0)
      .map((test) => Object.values(test).join("\n").toLowerCase());
    const matching = asked.slice(0, 500).map((query) => {
      const texts = query.toLowerCase().split(" ").filter((term) => !/^\w+-seen:/.test(term));
      return tests.filter((test) => texts.every((text) => test.includes(text))).length;
    });
    const share = (isMeant: (count: number) => boolean) =>
      matching.filter(isMeant).length / matching.length;
    assert.ok(share((count) => count === 0) > 0.1);
    assert.ok(share((count) => count > 0 && count < 200) > 0.3);
    assert.ok(share((count) => count > 1_000) > 0.1);
  });
});

describe("taking turns", () => {
  it("lets everyone have a slice in every round, after one to get warm", async () => {
    const order: string[] = [];
    const contestant = (name: string) => () => Promise.resolve(order.push(name));
    const rounds = await takeTurns({ a: contestant("a"), b: contestant("b") }, 2);
    assert.deepEqual(order, ["a", "b", "a", "b", "a", "b"]);
    assert.deepEqual(rounds, { a: [3, 5], b: [4, 6] });
  });

  it("compares neighbours, so that a slow minute does not count", () => {
    assert.equal(medianRatio([2, 20, 200], [1, 10, 100], (figure) => figure), 2);
    assert.equal(median([4, 1, 3, 2]), 2.5);
  });
});

describe("the tables", () => {
  it("show what was measured", () => {
    const text = markdown({
      machine: { cores: 2 },
      after_upload_ms: 9.876,
      after_tagged_upload_ms: 12.345,
    });
    assert.match(text, /\| cores +\| 2 /);
    assert.match(text, /after upload ms +\| 9\.88/);
    assert.doesNotMatch(text, /Growth/);
  });
});
