import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { TestResult } from "../../lib/report/result.ts";
import { failureCause, fingerprint } from "../../lib/analysis/failure_groups.ts";
import { describeWithDatabase } from "../database.ts";
import {
  assertBadRequest,
  assertError,
  bodyOf,
  createShop,
  DAY,
  type Fixture,
  idOf,
  NOT_FOUND,
  NOW,
} from "./fixture.ts";

const SUBMISSION_TESTS = "/api/repos/:owner/:name/submissions/:id/tests";
const RUNS = "/api/tests/:id/runs";
const FAILURES = "/api/tests/:id/failures";

const failed = (message: string, body = ""): Partial<TestResult> => ({
  conclusion: "failure",
  message,
  body,
});

describeWithDatabase("attempts and failures", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let newest: string;
  let oldest: string;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    await fixture.upload(shop, [{ name: "a", ...failed("left the window") }], {
      recordedAt: NOW - 15 * DAY,
    });
    oldest = (await fixture.upload(shop, [
      { name: "a", ...failed("expected 3, got 4", "Error: expected 3, got 4\n  at a.ts:1") },
      { name: "b", conclusion: "error", message: "connect ECONNREFUSED 127.0.0.1:5432" },
    ], {
      recordedAt: NOW - 300,
      branch: "release/1",
      buildUrl: "https://ci.example/1",
      treeOid: "7ee0001",
    })).submissionId;
    newest = (await fixture.upload(shop, [
      { name: "b", durationMicroseconds: 2_000 },
      { name: "c", conclusion: "skipped", durationMicroseconds: 0 },
      { name: "a", ...failed("expected 30, got 40", "Error: second"), durationMicroseconds: 3_000 },
      { name: "a", conclusion: "error", message: "connect ECONNREFUSED 127.0.0.1:6000" },
      { name: "a", durationMicroseconds: 4_000 },
      { name: "B", suite: "z", conclusion: "unknown" },
    ], { recordedAt: NOW - 100, branch: "main", commitOid: "c2c2c2c" })).submissionId;
  });

  const page = async (path: string, route: string) => await bodyOf(await fixture.get(path), route);

  /** Asserts that pages of any size have what one page has; returns that. */
  async function inPages(path: string, route: string, list: "tests" | "runs") {
    const whole = await page(path, route);
    for (const limit of [1, 2, 3]) {
      const found: unknown[] = [];
      for (let after: string | null = ""; after !== null;) {
        const next = await page(`${path}&limit=${limit}&after=${after}`, route);
        found.push(...next[list]);
        after = next.metadata.after;
      }
      assert.deepEqual(found, whole[list], `${path} by ${limit}`);
    }
    return whole;
  }

  it("lists the attempts of a submission, negative ones first", async () => {
    const path = `/api/repos/Acme/Shop/submissions/${newest.toUpperCase()}/tests`;
    const { count, tests, metadata } = await page(path, SUBMISSION_TESTS);
    assert.equal(count, 6);
    assert.deepEqual(metadata, { after: null, limit: 25 });
    assert.deepEqual(
      tests.map((one: Record<string, unknown>) => [one.name, one.conclusion, one.run_count]),
      [
        ["a", "failure", 1],
        ["a", "error", 2],
        ["a", "passing", 3],
        ["b", "passing", 1],
        ["c", "skipped", 1],
        ["B", "unknown", 1],
      ],
    );
    const { id, ...first } = tests[0];
    assert.deepEqual(first, {
      test_case_id: idOf(shop, { name: "a" }),
      name: "a",
      suite: "suite",
      class: "Class",
      file: "test.ts",
      conclusion: "failure",
      duration_us: 3_000,
      message: "expected 30, got 40",
      body: "Error: second",
      run_count: 1,
      is_disruption: true,
      causes: [fingerprint(failureCause("expected 30, got 40", ""))],
      evidence: "passed_here",
      blame: "not_yours",
      share: 1,
      share_of: 288,
      share_from: "published",
      evidence_url: "",
      ran_at: "2026-09-21T14:11:40Z",
    });
    const events = await (await fixture.get(`/api/tests/${first.test_case_id}/results`)).json();
    assert.ok(events.results.some((event: { id: string }) => event.id === id));
    assert.equal(new Set(tests.map((one: { id: string }) => one.id)).size, 6);
    assert.deepEqual([tests[2].message, tests[2].body], [null, null]);
  });

  it("filters the attempts of a submission by status, and pages them", async () => {
    const path = `/api/repos/acme/shop/submissions/${newest}/tests`;
    const counts: Record<string, number> = {
      all: 6,
      failed: 2,
      failure: 1,
      error: 1,
      skipped: 1,
      passed: 2,
      unknown: 1,
      "": 6,
    };
    for (const [status, count] of Object.entries(counts)) {
      const found = await inPages(`${path}?status=${status}`, SUBMISSION_TESTS, "tests");
      assert.equal(found.count, count, status);
    }
    const past = await page(`${path}?after=${btoa("offset:99")}`, SUBMISSION_TESTS);
    assert.deepEqual([past.tests, past.metadata.after], [[], null]);
  });

  it("has a 404 for an unknown submission before it checks parameters", async () => {
    for (const id of ["0".repeat(24), "x", newest.slice(1)]) {
      const path = `/api/repos/acme/shop/submissions/${id}/tests?limit=0`;
      await assertError(await fixture.get(path), 404, NOT_FOUND);
    }
    const path = `/api/repos/acme/shop/submissions/${newest}/tests?limit=0&status=x&after=y`;
    await assertBadRequest(await fixture.get(path), ["limit", "status", "after"]);
  });

  it("lists the runs of a test, newest first", async () => {
    const path = `/api/tests/${idOf(shop, { name: "a" })}/runs`;
    const { runs, metadata } = await page(path, RUNS);
    assert.deepEqual(metadata, { after: null, limit: 25 });
    assert.deepEqual(
      runs.map((run: Record<string, unknown>) => [
        run.submission_id,
        run.conclusion,
        run.run_count,
        run.is_disruption,
      ]),
      [
        [newest, "passing", 3, false],
        [newest, "error", 2, true],
        [newest, "failure", 1, true],
        [oldest, "failure", 1, false],
      ],
    );
    assert.deepEqual(runs[3], {
      submission_id: oldest,
      recorded_at: "2026-09-21T14:08:20Z",
      build_url: "https://ci.example/1",
      commit_oid: "c1c1c1c",
      tree_oid: "7ee0001",
      branch: "release/1",
      environment: "",
      conclusion: "failure",
      duration_us: 1_000,
      message: "expected 3, got 4",
      body: "Error: expected 3, got 4\n  at a.ts:1",
      run_count: 1,
      is_disruption: false,
    });
  });

  it("filters runs by conclusion and branch, and pages within a submission", async () => {
    const path = `/api/tests/${idOf(shop, { name: "a" })}/runs`;
    const countOf = async (query: string) =>
      (await inPages(`${path}?${query}`, RUNS, "runs")).runs.length;
    const counts = { failed: 3, failure: 2, error: 1, passed: 1, skipped: 0, unknown: 0, all: 4 };
    for (const [conclusion, count] of Object.entries(counts)) {
      assert.equal(await countOf(`conclusion=${conclusion}`), count, conclusion);
    }
    assert.equal(await countOf("branch=main"), 3);
    assert.equal(await countOf("branch=none"), 0);
    assert.equal(await countOf("branch=release/*&conclusion=failed"), 1);
    const wrong = await fixture.get(`${path}?conclusion=x&after=${btoa("offset:1")}`);
    await assertBadRequest(wrong, ["conclusion", "after"]);
  });

  it("groups the failures of a test by cause", async () => {
    const path = `/api/tests/${idOf(shop, { name: "a" })}/failures`;
    const { count, failures } = await page(path, FAILURES);
    assert.equal(count, 2);
    assert.deepEqual(failures[0], {
      fingerprint: "70f9019151fe634f",
      message: "expected 30, got 40",
      body: "Error: second",
      count: 2,
      disruption_count: 1,
      first_recorded_at: "2026-09-21T14:08:20Z",
      last_recorded_at: "2026-09-21T14:11:40Z",
      branches: ["main", "release/1"],
      latest_build_url: "",
      latest_commit_oid: "c2c2c2c",
    });
    const onRelease = await page(`${path}?branch=release/*`, FAILURES);
    assert.deepEqual(
      onRelease.failures.map((group: { message: string }) => group.message),
      ["expected 3, got 4"],
    );
    const none = await page(`/api/tests/${idOf(shop, { name: "c" })}/failures`, FAILURES);
    assert.deepEqual(none, { count: 0, failures: [] });
  });

  it("pages runs where nothing is left of the submission that a page ended with", async () => {
    for (const age of [90, 89, 88]) {
      const more = { recordedAt: NOW - age, commitOid: `d${age}`, branch: "single" };
      await fixture.upload(shop, [{ name: "d" }], more);
    }
    const path = `/api/tests/${idOf(shop, { name: "d" })}/runs?branch=single`;
    assert.equal((await inPages(path, RUNS, "runs")).runs.length, 3);
  });
});
