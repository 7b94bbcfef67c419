import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { testHash } from "../../lib/base/identity.ts";
import { formatTimestamp } from "../../lib/base/time.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { describeWithDatabase } from "../database.ts";
import { commitSubmission } from "../commit_submission.ts";
import { createShop, DAY, type Fixture, idOf, NOW, uploadOf } from "./fixture.ts";

/** A passing test that took some milliseconds. */
function timed(
  file: string,
  milliseconds: number,
  more: Partial<TestResult> = {},
): Partial<TestResult> {
  return { file, class: "", name: file, durationMicroseconds: milliseconds * 1000, ...more };
}

interface Row {
  key: string;
  median_us: number;
  p90_us: number;
  overhead_us: number;
  runs: number;
  test: object | null;
}

describeWithDatabase("durations", (database) => {
  let fixture: Fixture;
  let next = 0;
  before(async () => {
    ({ fixture } = await createShop(database()));
  });

  /** A repository of its own with uploads, a second after each other. */
  async function repositoryOf(
    ...uploads: [results: Partial<TestResult>[], more?: Partial<Upload>][]
  ): Promise<{ repository: Repository; path: string }> {
    const name = `project-${next++}`;
    const repository = await fixture.addRepository("acme", name);
    for (const [index, [results, more]] of uploads.entries()) {
      const recordedAt = NOW - 1000 + index;
      await fixture.upload(repository, results, { recordedAt, ...more });
    }
    return { repository, path: `/api/repos/acme/${name}/durations` };
  }

  async function list(path: string): Promise<{ count: number; durations: Row[] }> {
    const response = await fixture.get(path);
    assert.equal(response.status, 200);
    return await response.json();
  }

  const keys = (rows: Row[]) => rows.map(({ key }) => key);

  it("add up the tests and attempts of a file, the longest first", async () => {
    const { path } = await repositoryOf([[
      timed("a.ts", 10, { name: "one" }),
      timed("a.ts", 20, { name: "two", conclusion: "failure" }),
      timed("a.ts", 30, { name: "two" }),
      timed("b.ts", 100),
      timed("", 1000, { name: "without a file" }),
    ]]);
    assert.deepEqual(await list(path), {
      count: 2,
      durations: [
        { key: "b.ts", median_us: 100_000, p90_us: 100_000, runs: 1, overhead_us: 0, test: null },
        { key: "a.ts", median_us: 60_000, p90_us: 60_000, runs: 1, overhead_us: 0, test: null },
      ],
      metadata: { after: null, limit: 100 },
    });
  });

  it("are of classes or of tests on request", async () => {
    const { repository, path } = await repositoryOf([[
      timed("a.ts", 10, { class: "A", name: "one" }),
      timed("a.ts", 20, { class: "A", name: "two" }),
    ]]);
    assert.deepEqual((await list(`${path}?by=class`)).durations, [
      { key: "A", median_us: 30_000, p90_us: 30_000, runs: 1, overhead_us: 0, test: null },
    ]);
    const test = { name: "two", suite: "suite", class: "A", file: "a.ts" };
    assert.deepEqual((await list(`${path}?by=test&limit=1`)).durations, [
      {
        key: idOf(repository, test),
        median_us: 20_000,
        p90_us: 20_000,
        runs: 1,
        overhead_us: 0,
        test,
      },
    ]);
  });

  it("are the median and the 90th percentile of the latest 20 runs of each", async () => {
    const rare: [Partial<TestResult>[]] = [[timed("rare.ts", 7)]];
    const common = Array.from({ length: 25 }, (_, run): [Partial<TestResult>[]] => [
      [timed("common.ts", run + 1)],
    ]);
    const { path } = await repositoryOf(rare, ...common);
    assert.deepEqual((await list(path)).durations, [
      // Of 6 to 25.
      { key: "common.ts", median_us: 15_000, p90_us: 23_000, runs: 20, overhead_us: 0, test: null },
      { key: "rare.ts", median_us: 7_000, p90_us: 7_000, runs: 1, overhead_us: 0, test: null },
    ]);
  });

  it("are of 20 runs of a file, and of tests without one", async () => {
    const files = [timed("a.ts", 1), timed("b.ts", 0)];
    const both = [...files.slice(0, 1), timed("", 1, { name: "other" })];
    const { path } = await repositoryOf(
      [files],
      ...Array.from({ length: 22 }, (): [typeof both] => [both]),
    );
    assert.equal((await list(path)).durations[0]!.runs, 20);
  });

  it("have the median time of suites beyond their tests, of files and classes", async () => {
    const results = [
      timed("a.ts", 10, { class: "A", suite: "" }),
      timed("b.ts", 20, { class: "B", suite: "" }),
      timed("c.ts", 30, { class: "C", suite: "" }),
    ];
    const { repository, path } = await repositoryOf([results]);
    for (const [index, milliseconds] of [5, 7, 100].entries()) {
      const upload = uploadOf(repository, results, { recordedAt: NOW - 900 + index });
      const first = (file: string, className: string, isOneClass: boolean) => ({
        testHash: testHash({ suite: "", class: className, name: file, file }),
        microseconds: milliseconds * 1000,
        isOneClass,
      });
      // Two suites of one file, and one of several classes.
      upload.content.overheads.push(
        first("a.ts", "A", true),
        first("a.ts", "A", true),
        first("b.ts", "B", false),
        first("of another upload.ts", "C", true),
      );
      await commitSubmission(database().sql, upload);
    }
    const overheads = async (by: string) =>
      (await list(`${path}?by=${by}`)).durations.map(({ overhead_us }) => overhead_us / 1000);
    // Of four runs, the first without an overhead; the longest file first.
    assert.deepEqual(await overheads("file"), [0, 5, 10]);
    assert.deepEqual(await overheads("class"), [0, 0, 10]);
    assert.deepEqual(await overheads("test"), [0, 0, 0]);
  });

  it("of tests that take equally long are in the order of their ids, on any page", async () => {
    const names = [..."abcdefghijkl"];
    const tests = names.map((name, index) => timed("a.ts", index === 4 ? 9 : index % 3, { name }));
    // Each test is in some of the lists: no upload ran all of them.
    const { path } = await repositoryOf([tests.slice(0, 7)], [tests.slice(4, 12)], [
      tests.slice(2, 5),
    ]);
    const { count, durations } = await list(`${path}?by=test`);
    assert.equal(count, 12);
    const ordered = durations.toSorted((a, b) =>
      b.median_us - a.median_us || (a.key < b.key ? -1 : 1)
    );
    assert.deepEqual(durations, ordered);
    assert.equal(new Set(keys(durations)).size, 12);
    for (const limit of [1, 2, 5, 12]) {
      const paged: Row[] = [];
      for (let after = 0; after < 12; after += limit) {
        const page = await list(`${path}?by=test&limit=${limit}&after=${btoa(`offset:${after}`)}`);
        paged.push(...page.durations);
      }
      assert.deepEqual(paged, ordered);
    }
    const beyond = await list(`${path}?by=test&after=${btoa("offset:12")}`);
    assert.deepEqual([beyond.count, beyond.durations], [12, []]);
  });

  it("are those of a branch, an environment or a job on request", async () => {
    const { path } = await repositoryOf(
      [[timed("a.ts", 10)], { branch: "main", environment: "Linux-X64", job: "unit" }],
      [[timed("a.ts", 90)], { branch: "topic", environment: "Windows-X64", job: "end to end" }],
      [[timed("a.ts", 95)]],
    );
    for (const query of ["branch=main", "environment=Linux*", "job=unit,other"]) {
      assert.equal((await list(`${path}?${query}`)).durations[0]!.median_us, 10_000, query);
    }
    assert.equal((await list(`${path}?job=end*end`)).durations[0]!.median_us, 90_000);
    assert.deepEqual((await list(`${path}?job=other`)).durations, []);
  });

  it("of an earlier moment stay the same when more is uploaded", async () => {
    const early = { recordedAt: NOW - 15 * DAY, uploadedAt: NOW - 15 * DAY };
    const { repository, path } = await repositoryOf([[timed("a.ts", 10)], early]);
    const asOf = `${path}?as_of=${formatTimestamp(NOW - 14 * DAY)}`;
    const expected = await list(asOf);
    assert.deepEqual(keys(expected.durations), ["a.ts"]);
    await fixture.upload(repository, [timed("a.ts", 90)]);
    // Uploaded late: a node that asked before has not seen it.
    const late = { recordedAt: NOW - 14 * DAY - 5, uploadedAt: NOW };
    await fixture.upload(repository, [timed("a.ts", 90)], late);
    assert.deepEqual(await list(asOf), expected);
  });

  it("come in pages of up to 10,000", async () => {
    const { path } = await repositoryOf([["a", "b", "c"].map((file) => timed(file, 5))]);
    const page = await (await fixture.get(`${path}?limit=2`)).json();
    assert.deepEqual(keys(page.durations), ["a", "b"]);
    const rest = await list(`${path}?limit=2&after=${encodeURIComponent(page.metadata.after)}`);
    assert.deepEqual(keys(rest.durations), ["c"]);
    const large = await (await fixture.get(`${path}?limit=20000`)).json();
    assert.deepEqual(large.metadata, { after: null, limit: 10_000 });
  });

  it("name every wrong parameter", async () => {
    const { path } = await repositoryOf([[timed("a.ts", 5)]]);
    const response = await fixture.get(`${path}?by=suite&as_of=yesterday`);
    assert.equal(response.status, 400);
    const { errors } = await response.json();
    assert.deepEqual(Object.keys(errors).sort(), ["as_of", "by"]);
    assert.match(errors.by[0], /invalid by "suite": expected one of file, class, test/);
  });
});
