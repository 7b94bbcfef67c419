import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { QUOTE_HEADING } from "../../../../lib/mcp/output.ts";
import { closeAll, notFound, over } from "./over.ts";

afterEach(closeAll);

const ID = "5f3a9c0e7b12d4a86f01c2e3";

const DETAILS = {
  id: ID,
  repository: "acme/web",
  repository_id: 7,
  name: "adds an item",
  suite: "cart",
  class: "shop.CartTest",
  file: "src/cart_test.ts",
  tags: ["nightly", "owner:@acme/cart", "owner:@sam"],
  is_quarantined: true,
  quarantine_date: "2026-01-31T09:00:00Z",
  quarantined_by: "sam",
  quarantine_type: "manual",
  quarantine_reason: null,
  quarantine_owner: "sam",
  quarantine_expires_at: null,
  quarantine_environment: "Windows*",
  disruptiveness_ratio: 0.333,
  nondeterministic_negative_result_count: 1,
  disruption_count: 1,
  nondeterminism_first_recorded_at: "2026-01-02T03:04:05Z",
  first_disruption_at: "2026-01-02T03:04:05Z",
  pass_rate: 0.5,
  avg_duration_ms: 12.5,
  time_consumed: 50_000,
};

const GROUP = {
  fingerprint: "0123456789abcdef",
  message: "expected 3 items, found 2",
  body: "expected 3 items, found 2\n  at cart_test.ts:12",
  count: 2,
  disruption_count: 1,
  first_recorded_at: "2026-01-30T08:00:00Z",
  last_recorded_at: "2026-01-31T08:00:00Z",
  branches: ["main"],
  latest_build_url: "https://ci.example.com/7",
  latest_commit_oid: "c7",
};

/** A run of the test in a build of this number. */
function run(build: number, conclusion: string, more: Record<string, unknown> = {}) {
  return {
    submission_id: build.toString(16).padStart(24, "0"),
    recorded_at: `2026-01-${String(build).padStart(2, "0")}T08:00:00Z`,
    build_url: `https://ci.example.com/${build}`,
    commit_oid: `c${build}`,
    tree_oid: "",
    branch: "main",
    conclusion,
    duration_us: build * 1000,
    message: conclusion === "passing" ? null : GROUP.message,
    body: conclusion === "passing" ? null : GROUP.body,
    run_count: 1,
    is_disruption: conclusion === "failure",
    ...more,
  };
}

function serviceOf(
  { failures = [GROUP], failed = [run(7, "failure")], passed = [run(8, "passing")] } = {},
) {
  return (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    const metadata = { limit: 100, after: null };
    switch (pathname) {
      case `/api/tests/${ID}`:
        return Response.json(DETAILS);
      case `/api/tests/${ID}/failures`:
        return Response.json({ count: failures.length, failures });
      case `/api/tests/${ID}/runs`: {
        const runs = searchParams.get("conclusion") === "failed" ? failed : passed;
        return Response.json({ count: runs.length, runs, metadata });
      }
    }
    return notFound();
  };
}

describe("get_test_details", () => {
  it("has the test, its owners and its failures", async () => {
    const { call } = await over(serviceOf());
    const { data } = await call("get_test_details", { test_id: ID });
    const { failed_runs: _failed, passed_runs: _passed, ...details } = data;
    const {
      repository_id: _id,
      quarantine_date: _date,
      quarantined_by: _by,
      quarantine_type: _type,
      disruption_count: _count,
      first_disruption_at: _first,
      time_consumed: _time,
      ...shown
    } = DETAILS;
    assert.deepEqual(details, {
      web_url: "https://flaky.example/tests/5f3a9c0e7b12d4a86f01c2e3",
      test: shown,
      owners: ["@acme/cart", "@sam"],
      failures: [{
        ...GROUP,
        body: `${QUOTE_HEADING}\n> expected 3 items, found 2\n>   at cart_test.ts:12`,
      }],
      failure_group_count: 1,
    });
  });

  it("has the commits and builds where it failed and passed", async () => {
    const { api, call } = await over(serviceOf({
      failed: [run(9, "failure"), run(5, "error", { tree_oid: "t5" })],
      passed: [run(10, "passing", { commit_oid: "c6", tree_oid: "t5" })],
    }));
    const { data } = await call("get_test_details", { test_id: ID });
    const commitsOf = (runs: Record<string, string>[]) =>
      runs.map(({ commit_oid, tree_oid, build_url }) => [commit_oid, tree_oid, build_url]);
    const build = (number: number) => `https://ci.example.com/${number}`;
    assert.deepEqual(commitsOf(data.failed_runs), [["c9", "", build(9)], ["c5", "t5", build(5)]]);
    assert.deepEqual(commitsOf(data.passed_runs), [["c6", "t5", build(10)]]);
    assert.deepEqual(Object.keys(data.passed_runs[0]), [
      "recorded_at",
      "build_url",
      "commit_oid",
      "tree_oid",
      "branch",
    ]);
    const requested = api.received.map(({ url }) => url).filter((url) => url.includes("/runs"));
    const path = `/api/tests/${ID}/runs`;
    assert.deepEqual(requested.sort(), [
      `${path}?conclusion=failed&limit=10`,
      `${path}?conclusion=passed&limit=10`,
    ]);
  });

  it("has no failures and runs of a test that did not run", async () => {
    const { call } = await over(serviceOf({ failures: [], failed: [], passed: [] }));
    const { data } = await call("get_test_details", { test_id: ID });
    assert.deepEqual(data.failures, []);
    assert.deepEqual([data.failed_runs, data.passed_runs], [[], []]);
  });

  it("has a bounded output", async () => {
    const failures = Array.from({ length: 50 }, (_, index) => ({
      ...GROUP,
      fingerprint: String(index),
      message: "m".repeat(1000),
      body: "line\n".repeat(3000),
      branches: Array.from({ length: 500 }, (_, branch) => `branch-${branch}`),
    }));
    const { call } = await over(serviceOf({ failures }));
    const { data, text } = await call("get_test_details", { test_id: ID });
    assert.equal(data.failures.length, 5);
    assert.equal(data.failure_group_count, 50);
    assert.ok(text.length < 40_000, `${text.length} characters`);
  });
});
