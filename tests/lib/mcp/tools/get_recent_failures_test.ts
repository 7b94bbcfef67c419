import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { failureCause, fingerprint } from "../../../../lib/analysis/failure_groups.ts";
import { QUOTE_HEADING } from "../../../../lib/mcp/output.ts";
import { closeAll, notFound, over } from "./over.ts";

afterEach(closeAll);

const ID = "5f3a9c0e7b12d4a86f01c2e";

/** A service of these submissions, newest first, each with the names and messages of its failures. */
function serviceOf(
  submissions: { branch?: string; failures: [string, string][]; count?: number }[],
) {
  return (request: Request) => {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname.startsWith("/api/tests/")) {
      return Response.json({ tags: pathname.endsWith("a") ? ["owner:@acme/db", "slow"] : [] });
    }
    const id = /submissions\/([0-9a-f]{24})\/tests$/.exec(pathname)?.[1];
    if (id === undefined) {
      return Response.json({
        count: submissions.length,
        submissions: submissions.slice(0, Number(searchParams.get("limit"))).map(
          ({ branch = "main" }, index) => ({
            id: index.toString(16).padStart(24, "0"),
            key: "key",
            build_url: `https://ci.example.com/${index}`,
            commit_oid: `c${index}`,
            tree_oid: "",
            branch,
            recorded_at: new Date(1_790_000_000_000 - index * 60_000).toISOString(),
            status: "processed",
            test_result_count: 10,
          }),
        ),
        metadata: { limit: 10, after: null },
      });
    }
    assert.equal(searchParams.get("status"), "failed");
    const { failures, count = failures.length } = submissions[Number.parseInt(id, 16)]!;
    return Response.json({
      count,
      tests: failures.map(([name, message]) => ({
        id,
        test_case_id: ID + name,
        name,
        suite: "cart",
        class: "",
        file: "cart.ts",
        conclusion: "failure",
        duration_us: 1,
        message,
        body: `${message}\n  at ${name}`,
        ran_at: "2026-01-31T08:00:00Z",
        run_count: 1,
        is_disruption: name === "a",
      })),
      metadata: { limit: 100, after: null },
    });
  };
}

describe("get_recent_failures", () => {
  it("groups the failures of the latest submissions by cause", async () => {
    const { call } = await over(serviceOf([
      { failures: [["a", "connection to 10.0.0.1:5432 refused"], ["b", "expected 3, got 4"]] },
      { failures: [] },
      { branch: "next", failures: [["a", "connection to 10.0.0.2:5432 refused"]] },
      {
        failures: [
          ["c", "connection to 10.0.0.9:41 refused"],
          ["c", "connection to 10.0.0.9:42 refused"],
        ],
      },
    ]));
    const { data } = await call("get_recent_failures", { owner: "acme", name: "web" });
    const { submissions, groups, ...rest } = data;
    assert.deepEqual(rest, {
      owner: "acme",
      name: "web",
      group_count: 2,
      ungrouped_count: 0,
      web_url: "https://flaky.example/repos/acme/web",
    });
    const counts = submissions.map((one: { failed_count: number }) => one.failed_count);
    assert.deepEqual(counts, [2, 0, 1, 2]);
    const [largest, other] = groups;
    const message = "connection to 10.0.0.1:5432 refused";
    const test = { suite: "cart", class: "", file: "cart.ts" };
    assert.deepEqual(largest, {
      fingerprint: fingerprint(failureCause(message, "")),
      message,
      body: `${QUOTE_HEADING}\n> ${message}\n>   at a`,
      count: 4,
      disruption_count: 2,
      submission_count: 3,
      test_count: 2,
      tests: [{ id: `${ID}a`, name: "a", ...test }, { id: `${ID}c`, name: "c", ...test }],
      owners: ["@acme/db"],
      latest_build_url: "https://ci.example.com/0",
      latest_commit_oid: "c0",
    });
    assert.deepEqual(Object.keys(submissions[0]), [
      "id",
      "build_url",
      "commit_oid",
      "branch",
      "recorded_at",
      "failed_count",
    ]);
    assert.equal(other.message, "expected 3, got 4");
  });

  it("keeps causes apart whose messages differ after where messages are cut", async () => {
    const start = "x".repeat(400);
    const { call } = await over(
      serviceOf([{ failures: [["a", `${start} a`], ["b", `${start} b`]] }]),
    );
    const { data } = await call("get_recent_failures", { owner: "acme", name: "web" });
    assert.equal(data.group_count, 2);
  });

  it("reads the submissions and branches that are requested", async () => {
    const service = serviceOf(Array.from({ length: 60 }, () => ({ failures: [["a", "no"]] })));
    const { api, call } = await over(service);
    const args = { owner: "group/sub", name: "web", submissions: 50, branch: "main,release/*" };
    const { data } = await call("get_recent_failures", args);
    assert.equal(data.submissions.length, 50);
    const first = "/api/repos/group%2Fsub/web/submissions?limit=50&branch=main%2Crelease%2F*";
    assert.equal(api.received[0]?.url, first);
    assert.equal(api.received.length, 52);
  });

  it("counts the failures that it did not read", async () => {
    const { call } = await over(serviceOf([{ failures: [["a", "no"]], count: 2000 }]));
    const { data } = await call("get_recent_failures", { owner: "acme", name: "web" });
    assert.equal(data.ungrouped_count, 1999);
  });

  it("has a bounded output for the worst repository", async () => {
    const trace = "\n".repeat(300);
    const failures = Array.from({ length: 100 }, (_, index): [string, string] => [
      "n".repeat(900) + index,
      String.fromCharCode(97 + index % 26, 97 + index / 26) + "m".repeat(400) + trace,
    ]);
    const { call } = await over(serviceOf(Array.from({ length: 50 }, () => ({ failures }))));
    const args = { owner: "acme", name: "web", submissions: 50 };
    const { text, isError } = await call("get_recent_failures", args);
    assert.ok(!isError, text);
    assert.ok(text.length < 150_000, `${text.length} characters`);
  });

  it("has no groups without failures or submissions", async () => {
    for (const submissions of [[], [{ failures: [] }]]) {
      const { call } = await over(serviceOf(submissions));
      const { data } = await call("get_recent_failures", { owner: "a", name: "b" });
      assert.deepEqual(data.groups, []);
    }
  });

  it("rejects no submissions, half of one, and more than 50", async () => {
    const { api, call } = await over(notFound);
    for (const submissions of [0, 51, 1.5]) {
      const args = { owner: "acme", name: "web", submissions };
      assert.ok((await call("get_recent_failures", args)).isError);
    }
    assert.equal(api.received.length, 0);
  });
});
