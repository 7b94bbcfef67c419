/** The tools without a test file of their own, and what all have in common. */
import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { coverageBadge, flakinessBadge } from "../../../../lib/badge/badge.ts";
import { QUOTE_HEADING } from "../../../../lib/mcp/output.ts";
import { WEB_URL } from "../connect.ts";
import { closeAll, notFound, over, queryOf } from "./over.ts";

const badges = (svg: string) => new Response(svg, { headers: { "content-type": "image/svg+xml" } });
const event = {
  id: "6af9fc8a36b7a1c3f16ed5ed",
  build_url: "https://ci.example.com/builds/7",
  commit_oid: "0740eee9",
  conclusion: "failure",
  recorded_at: "2026-01-31T08:00:00Z",
  message: "expected 3 items, found 2",
};
const submission = {
  id: "6b00b02a4a859e664fddaf41",
  key: "acme/web/6b00b02a4a859e664fddaf41",
  build_url: "https://ci.example.com/builds/7",
  commit_oid: "0740eee9",
  branch: "main",
  recorded_at: "2026-01-31T08:00:00Z",
  status: "processed",
  test_result_count: 28,
};

afterEach(closeAll);

describe("get_test_history", () => {
  it("returns the events of a test", async () => {
    const { api, call } = await over(() => Response.json({ results: [event] }));
    const test_id = "5F3a9c0e7b12d4a86f01c2e3";
    const { structuredContent } = await call("get_test_history", { test_id });
    assert.equal(api.received[0]?.url, `/api/tests/${test_id}/results`);
    assert.deepEqual(structuredContent, {
      test_id,
      count: 1,
      events: [event],
      web_url: `${WEB_URL}/tests/${test_id.toLowerCase()}`,
    });
  });

  it("returns no events of a test without disruptions", async () => {
    const { call } = await over(() => Response.json({ results: [] }));
    const test_id = "5f3a9c0e7b12d4a86f01c2e3";
    const { structuredContent } = await call("get_test_history", { test_id });
    assert.deepEqual(structuredContent, {
      test_id,
      count: 0,
      events: [],
      web_url: `${WEB_URL}/tests/${test_id}`,
    });
  });
});

describe("list_recent_submissions", () => {
  it("returns a page of CI runs of a repository in a nested group", async () => {
    const { api, call } = await over(() =>
      Response.json({
        count: 12,
        submissions: [submission],
        metadata: { limit: 1, after: "aWQ6" },
      })
    );
    const { structuredContent } = await call("list_recent_submissions", {
      owner: "group/sub",
      name: "web",
      limit: 1,
      after: "aWQ6MQ==",
    });
    const url = "/api/repos/group%2Fsub/web/submissions?limit=1&after=aWQ6MQ%3D%3D";
    assert.equal(api.received[0]?.url, url);
    assert.deepEqual(structuredContent, {
      web_url: `${WEB_URL}/repos/group%2Fsub/web/builds`,
      owner: "group/sub",
      name: "web",
      count: 12,
      submissions: [submission],
      next_cursor: "aWQ6",
    });
  });

  it("takes a repository in both ways at once only if they agree", async () => {
    const { call } = await over(() =>
      Response.json({ count: 0, submissions: [], metadata: { limit: 10, after: null } })
    );
    const both = { repository: "acme/web", owner: "acme", name: "web" };
    assert.ok(!(await call("list_recent_submissions", both)).isError);
    const { text } = await call("list_recent_submissions", { ...both, name: "shop" });
    assert.match(text, /unknown argument "owner": expected repository/);
  });

  it("returns ten by default", async () => {
    const { api, call } = await over(() =>
      Response.json({ count: 0, submissions: [], metadata: { limit: 10, after: null } })
    );
    await call("list_recent_submissions", { owner: "acme", name: "web" });
    assert.equal(queryOf(api).get("limit"), "10");
  });
});

describe("list_my_organizations", () => {
  it("returns the organization of the token", async () => {
    const id = "0191d5a2-7c3e-7000-8000-000000000007";
    const organizations = [{ id, name: "Acme", slug: "acme" }];
    const { api, call } = await over(() => Response.json({ organizations }));
    const { structuredContent } = await call("list_my_organizations");
    assert.equal(api.received[0]?.url, "/api/me/organizations");
    assert.deepEqual(structuredContent, { organizations, web_url: `${WEB_URL}/repos` });
  });
});

describe("list_repositories", () => {
  const repository = (name: string, index: number) => ({
    id: String(index),
    name,
    full_name: `Acme/${name}`,
    url: `https://github.com/Acme/${name}`,
    description: "",
  });

  it("returns those whose name contains a text, in any case", async () => {
    const repositories = ["web", "web-shop", "api"].map(repository);
    const { api, call } = await over(() => Response.json({ repositories }));
    const namesOf = async (args: Record<string, unknown>) => {
      const { data } = await call("list_repositories", args);
      assert.equal(data.count, data.repositories.length);
      return data.repositories.map((one: { full_name: string }) => one.full_name);
    };
    assert.deepEqual(await namesOf({}), ["Acme/web", "Acme/web-shop", "Acme/api"]);
    assert.equal(api.received[0]?.url, "/api/me/repositories");
    assert.deepEqual(await namesOf({ search: " ACME/Web" }), ["Acme/web", "Acme/web-shop"]);
    assert.deepEqual(await namesOf({ search: "nope" }), []);
  });

  it("returns the first hundred of many, and how many there are", async () => {
    const repositories = Array.from({ length: 2000 }, (_, index) => repository(`r${index}`, index));
    const { call } = await over(() => Response.json({ repositories }));
    const { data } = await call("list_repositories");
    assert.equal(data.count, 2000);
    assert.equal(data.repositories.length, 100);
  });
});

describe("get_submission_test_results", () => {
  const submission_id = "6b00b02a4a859e664fddaf41";
  const args = { owner: "group/sub", name: "web", submission_id };
  const attempt = {
    test_case_id: "5f3a9c0e7b12d4a86f01c2e3",
    name: "adds an item",
    suite: "cart",
    class: "shop.CartTest",
    file: "src/cart_test.ts",
    conclusion: "failure",
    duration_us: 1500,
    message: "expected 3 items, found 2",
    body: "expected 3 items, found 2\n  at cart_test.ts:12",
    run_count: 2,
    is_disruption: true,
  };
  const answer = (tests: unknown[]) =>
    Response.json({ count: 11, tests, metadata: { limit: 10, after: "bmV4dA==" } });

  it("returns the failed attempts of a submission by default, with quoted bodies", async () => {
    const ran_at = "2026-01-31T08:00:00Z";
    const { api, call } = await over(() => answer([{ id: "x", ran_at, ...attempt }]));
    const { data } = await call("get_submission_test_results", args);
    const url = `/api/repos/group%2Fsub/web/submissions/${submission_id}/tests`;
    assert.equal(api.received[0]?.url, `${url}?status=failed&limit=10`);
    const lines = ["> expected 3 items, found 2", ">   at cart_test.ts:12"];
    assert.deepEqual(data, {
      web_url: `${WEB_URL}/repos/group%2Fsub/web/builds/${submission_id}`,
      submission_id,
      count: 11,
      tests: [{ ...attempt, body: [QUOTE_HEADING, ...lines].join("\n") }],
      next_cursor: "bmV4dA==",
    });
  });

  it("returns other results without messages and bodies", async () => {
    const passed = { ...attempt, conclusion: "passing", message: null, body: null };
    const { api, call } = await over(() => answer([passed]));
    const more = { status: "all", limit: 100, after: "b2Zmc2V0OjI1" };
    const { data } = await call("get_submission_test_results", { ...args, ...more });
    assert.deepEqual(Object.fromEntries(queryOf(api)), { ...more, limit: "100" });
    assert.deepEqual(data.tests, [passed]);
  });
});

describe("get_repo_flakiness and get_repo_coverage", () => {
  it("return the number and the colour of the badge", async () => {
    const { api, call } = await over((request) =>
      badges(
        new URL(request.url).pathname === "/api/v1/flaky/badges"
          ? flakinessBadge({ disruptedBuildCount: 123, buildCount: 1000 }).svg
          : coverageBadge({ coveredLineCount: 9, lineCount: 10 }).svg,
      )
    );
    const repository = "acme/web";
    const flakiness = await call("get_repo_flakiness", { repository });
    assert.deepEqual(flakiness.structuredContent, {
      repository,
      percentage: 12.3,
      color: "yellow",
      web_url: `${WEB_URL}/repos/acme/web`,
    });
    assert.equal(api.received[0]?.url, "/api/v1/flaky/badges?repository=acme%2Fweb");
    const coverage = await call("get_repo_coverage", { repository });
    assert.deepEqual(coverage.structuredContent, {
      repository,
      percentage: 90,
      color: "light_green",
      web_url: `${WEB_URL}/repos/acme/web`,
    });
    assert.equal(api.received[1]?.url, "/api/v1/coverage/badges?repository=acme%2Fweb");
  });

  it("return null without data", async () => {
    const { call } = await over(() => badges(coverageBadge(null).svg));
    for (const tool of ["get_repo_flakiness", "get_repo_coverage"]) {
      const { structuredContent } = await call(tool, { repository: "web" });
      assert.deepEqual(structuredContent, {
        repository: "web",
        percentage: null,
        color: "unknown",
        web_url: `${WEB_URL}/repos/web`,
      });
    }
  });

  it("say when a name is ambiguous", async () => {
    const { call } = await over(() =>
      Response.json({ errors: { repository: ['"web" fits several'] } }, { status: 400 })
    );
    const { isError, text } = await call("get_repo_flakiness", { repository: "web" });
    assert.ok(isError);
    assert.match(text, /repository: "web" fits several/);
  });
});

describe("every tool", () => {
  const CALLS: Record<string, Record<string, unknown>> = {
    get_build_verdicts: { repository: "acme/web" },
    find_flaky_tests: {},
    find_slow_tests: { owner: "acme", name: "web" },
    get_test_history: { test_id: "5f3a9c0e7b12d4a86f01c2e3" },
    list_recent_submissions: { owner: "acme", name: "web" },
    get_repo_flakiness: { repository: "acme/web" },
    get_repo_coverage: { repository: "acme/web" },
    list_my_organizations: {},
    list_repositories: {},
    get_submission_test_results: {
      owner: "acme",
      name: "web",
      submission_id: "6b00b02a4a859e664fddaf41",
    },
    get_recent_failures: { owner: "acme", name: "web" },
    get_test_details: { test_id: "5f3a9c0e7b12d4a86f01c2e3" },
    get_test_evidence: { test_id: "5f3a9c0e7b12d4a86f01c2e3" },
  };
  const [ID, WEB] = ["5f3a9c0e7b12d4a86f01c2e3", { owner: "group/sub", name: "wbe" }];
  const UNKNOWN: [tool: string, args: Record<string, unknown>, message: RegExp][] = [
    ["find_flaky_tests", { repository: "wbe" }, /No repository "wbe".*owner\/name/],
    ["get_build_verdicts", WEB, /No repository "group\/sub\/wbe".*list_repositories/],
    ["get_recent_failures", WEB, /No repository "group\/sub\/wbe".*list_repositories/],
    ["list_recent_submissions", WEB, /No repository "group\/sub\/wbe".*owner\/name/],
    ["get_test_history", { test_id: ID }, /No test "5f3a9c0e7b12d4a86f01c2e3".*find_flaky_tests/],
    ["get_test_details", { test_id: ID }, /No test "5f3a9c0e7b12d4a86f01c2e3".*find_flaky_tests/],
    [
      "get_submission_test_results",
      { ...WEB, submission_id: ID },
      /No submission "5f3a9c0e7b12d4a86f01c2e3".*"group\/sub\/wbe".*list_recent_submissions/,
    ],
  ];
  const INVALID: typeof UNKNOWN = [
    ["get_test_history", {}, /test_id/],
    ["get_test_history", { test_id: "cart adds an item" }, /invalid id "cart adds an item"/],
    ["get_test_details", { test_id: "5f3a" }, /invalid id "5f3a".*find_flaky_tests/],
    [
      "get_submission_test_results",
      { ...WEB, submission_id: "7" },
      /invalid id "7": .*list_recent_submissions/,
    ],
    ...["get_test_history", "get_test_details"].map((tool): typeof UNKNOWN[number] => [
      tool,
      { test_id: "" },
      /test_id: invalid id ""/,
    ]),
    ["get_test_evidence", { test_id: ID, since: "" }, /invalid since "": .*leave it out/],
    [
      "get_test_evidence",
      { test_id: ID, environment: " " },
      /invalid environment "": .*leave it out/,
    ],
    ["find_slow_tests", { ...WEB, branch: "" }, /invalid branch "": .*leave it out/],
    ["get_recent_failures", { ...WEB, branch: "" }, /invalid branch "": .*leave it out/],
    ["get_recent_failures", { repository: "" }, /repository: invalid repository ""/],
    ["get_repo_flakiness", { repository: "" }, /repository: invalid repository ""/],
  ];

  it("says where ids and names come from when they are unknown or invalid", async () => {
    const { api, call } = await over(notFound);
    const refuse = async ([tool, args, message]: typeof UNKNOWN[number]) => {
      const { isError, text } = await call(tool, args);
      assert.ok(isError, tool);
      assert.match(text, message);
    };
    for (const one of INVALID) await refuse(one);
    assert.equal(api.received.length, 0);
    for (const one of UNKNOWN) await refuse(one);
  });

  const FAILURES: Array<[string, () => Response, RegExp]> = [
    ["a rejected token", () => new Response(null, { status: 401 }), /PLATFORM_API_TOKEN/],
    ["a failing service", () => new Response(null, { status: 500 }), /failed \(status 500\)/],
    [
      "an unavailable service",
      () => new Response(null, { status: 503 }),
      /failed \(status 503\)/,
    ],
    ["another service", () => new Response("<html>"), /does not look like this service/],
  ];
  for (const [name, response, message] of FAILURES) {
    it(`says what to do about ${name}`, async () => {
      const { call, client, errors } = await over(response);
      const { tools } = await client.listTools();
      assert.deepEqual(tools.map((tool) => tool.name), Object.keys(CALLS));
      for (const [tool, args] of Object.entries(CALLS)) {
        const { isError, text } = await call(tool, args);
        assert.ok(isError, tool);
        assert.match(text, message);
      }
      assert.deepEqual(errors, []);
    });
  }
});
