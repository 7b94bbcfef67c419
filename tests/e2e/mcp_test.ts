import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { FAKE_TOKEN, flakyPage, startFakeApi } from "../lib/api_client/fake_api.ts";
import { QUOTE_HEADING } from "../../lib/mcp/output.ts";
import { type Demo, serveDemo } from "./demo.ts";
import { prepare } from "./prepare.ts";
import { run } from "./program.ts";
import { startToolProcess, TOOL_SERVER } from "./tool_process.ts";
import { waitUntil } from "../wait_until.ts";
import { pause } from "../../lib/base/delay.ts";

const REPOSITORY = "acme/web-shop";
const NESTED = "acme/edge/gateway";
const LONG_MESSAGE = "expected x-request-id ".repeat(40).trim();
const CALLS_AT_ONCE = 200;

function initialize(protocolVersion: string) {
  return { protocolVersion, capabilities: {}, clientInfo: { name: "test", version: "1" } };
}

/** The official client, driving a process of the agent tool server. */
async function connect(
  environment: Record<string, string>,
  options: ConstructorParameters<typeof Client>[1] = {},
) {
  const transport = new StdioClientTransport({
    ...TOOL_SERVER,
    // Else only a few variables are passed on, and not where Deno keeps its packages.
    env: { ...Deno.env.toObject(), ...environment },
    stderr: "pipe",
  });
  let stderr = "";
  transport.stderr?.on("data", (part) => stderr += part);
  const client = new Client({ name: "test", version: "1.0.0" }, options);
  await client.connect(transport);
  return {
    client,
    stderr: () => stderr,
    call: async (name: string, args: Record<string, unknown> = {}) => {
      const result = await client.callTool({ name, arguments: args });
      const text = result.content.map((part) => part.type === "text" ? part.text : "").join("\n");
      return { ...result, text, data: (result.structuredContent ?? {}) as Record<string, unknown> };
    },
  };
}

/** A repository in a group of groups, with a tagged test that fails and passes at one commit. */
async function ingestFlakyTest(database: Record<string, string>): Promise<void> {
  const folder = await Deno.makeTempDir();
  for (const failure of ["", `<failure message="${LONG_MESSAGE}"/>`]) {
    const report = join(folder, "report.xml");
    await Deno.writeTextFile(
      report,
      `<testsuite name="gateway"><testcase classname="Proxy" name="forwards headers">` +
        `${failure}</testcase></testsuite>`,
    );
    const facts = ["--repo", NESTED, "--commit", "a1b2c3d", "--tags", "linux,X"];
    await prepare(database, [["ingest", "--org", "acme", ...facts, report]]);
  }
  await Deno.remove(folder, { recursive: true });
}

describe("the agent tools over the demo", () => {
  let demo: Demo;
  let environment: Record<string, string> = {};
  let tools: Awaited<ReturnType<typeof connect>>;

  before(async () => {
    demo = await serveDemo();
    await ingestFlakyTest(demo.environment);
    environment = {
      PLATFORM_API_TOKEN: demo.token,
      PLATFORM_API_URL: demo.url,
    };
    tools = await connect(environment);
  });
  after(async () => {
    await tools.client.close();
    await demo.stop();
    assert.equal(tools.stderr(), "");
  });

  it("tell how flaky and how covered a repository is", async () => {
    const flakiness = await tools.call("get_repo_flakiness", { repository: REPOSITORY });
    assert.equal(flakiness.data.color, "red");
    assert.ok(Number(flakiness.data.percentage) > 20);
    const coverage = await tools.call("get_repo_coverage", { repository: "WEB-SHOP" });
    assert.equal(coverage.data.color, "yellow");
    assert.ok(Number(coverage.data.percentage) > 70);
  });

  it("lead from the inventory to the history of a test", async () => {
    const { data } = await tools.call("find_flaky_tests", { repository: REPOSITORY });
    const [worst] = data.tests as Array<Record<string, unknown>>;
    assert.equal(worst?.name, "pays with a saved card");
    const history = await tools.call("get_test_history", { test_id: worst?.id });
    const events = history.data.events as Array<Record<string, unknown>>;
    assert.equal(events.length, worst?.nondeterministic_negative_result_count);
    const latest = worst?.recent_nondeterministic_negative_result as Record<string, unknown>;
    assert.equal(events[0]?.build_url, latest.build_url);
    assert.equal(events[0]?.message, latest.message);
  });

  it("lead from what failed lately to the stack trace of a test, and to where it passed", async () => {
    const repository = { owner: "acme", name: "web-shop" };
    const failures = await tools.call("get_recent_failures", { ...repository, submissions: 50 });
    const groups = failures.data.groups as Array<Record<string, unknown>>;
    const group = groups.find(({ message }) => message === "no confirmation after 5000 ms");
    const [test] = group?.tests as Array<{ id: string; name: string }>;
    assert.equal(test?.name, "pays with a saved card");
    const { data } = await tools.call("get_test_details", { test_id: test?.id });
    const [cause] = data.failures as Array<Record<string, unknown>>;
    assert.equal(cause?.fingerprint, group?.fingerprint);
    const lines = String(cause?.body).split("\n");
    assert.equal(lines[0], QUOTE_HEADING);
    assert.ok(lines.slice(1).every((line) => line.startsWith("> ")), String(cause?.body));
    assert.ok(lines.includes(">     at confirmationShown (browser/checkout_test.ts:22:3)"));
    const commitsOf = (runs: unknown) =>
      (runs as Array<Record<string, string>>).map((run) => run.commit_oid);
    const passed = commitsOf(data.passed_runs);
    assert.ok(commitsOf(data.failed_runs).some((commit) => passed.includes(commit)));
    const { avg_duration_ms } = data.test as Record<string, number>;
    assert.ok(Number(avg_duration_ms) > 0);
  });

  it("show what failed in one CI run", async () => {
    const repository = { owner: "acme", name: "web-shop" };
    const runs = await tools.call("list_recent_submissions", { ...repository, limit: 100 });
    let failed = 0;
    for (const { id } of runs.data.submissions as Array<{ id: string }>) {
      const args = { ...repository, submission_id: id, limit: 100 };
      const { data } = await tools.call("get_submission_test_results", args);
      assert.equal((data.tests as unknown[]).length, data.count);
      failed += Number(data.count);
    }
    const { data } = await tools.call("get_recent_failures", { ...repository, submissions: 50 });
    const counts = (data.groups as Array<{ count: number }>).map(({ count }) => count);
    assert.equal(counts.reduce((sum, count) => sum + count, 0), failed);
    assert.ok(failed > 5);
  });

  it("list the organization and its repositories", async () => {
    const { data } = await tools.call("list_my_organizations");
    const [organization] = data.organizations as Array<{ slug: string }>;
    assert.equal(organization?.slug, "acme");
    const found = await tools.call("list_repositories");
    const names = (found.data.repositories as Array<{ full_name: string }>)
      .map(({ full_name }) => full_name);
    assert.deepEqual(names, [NESTED, "acme/mobile-app", "acme/orders-api", REPOSITORY]);
  });

  it("filter by words and day, and show the quarantined tests apart", async () => {
    const names = async (args: Record<string, unknown>) => {
      const { data } = await tools.call("find_flaky_tests", { repository: REPOSITORY, ...args });
      return (data.tests as Array<{ name: string }>).map((test) => test.name);
    };
    assert.deepEqual(await names({ search: "PRICE sorts" }), ["sorts by price"]);
    assert.deepEqual(await names({ since: "2999-01-01" }), []);
    assert.deepEqual(await names({ tags: ["no-such-tag"] }), []);
    assert.deepEqual(await names({ quarantined: true }), ["sends a receipt after payment"]);
    assert.ok((await names({ since: "2020-01-01", sort: "recency" })).length > 1);
  });

  it("reach repositories in groups of groups, by tag as well, with messages cut", async () => {
    const { data } = await tools.call("find_flaky_tests", { repository: NESTED, tags: ["x", "y"] });
    const [test] = data.tests as Array<Record<string, unknown>>;
    assert.deepEqual(test?.tags, ["X", "linux"]);
    const latest = test?.recent_nondeterministic_negative_result as { message: string };
    assert.equal(
      latest.message,
      `${LONG_MESSAGE.slice(0, 300)}... [cut: 300 of ${LONG_MESSAGE.length} characters]`,
    );
    const runs = await tools.call("list_recent_submissions", {
      owner: "acme/edge",
      name: "gateway",
    });
    assert.equal(runs.data.count, 2);
    const flakiness = await tools.call("get_repo_flakiness", { repository: "gateway" });
    assert.equal(flakiness.data.percentage, 50);
    const coverage = await tools.call("get_repo_coverage", { repository: NESTED });
    const { web_url, ...shown } = coverage.data;
    assert.deepEqual(shown, { repository: NESTED, percentage: null, color: "unknown" });
    assert.match(String(web_url), /^http:\/\/127\.0\.0\.1:\d+\/repos\/acme%2Fedge\/gateway$/);
    const { contents: [content] } = await tools.client.readResource({
      uri: "test-analytics://repos/acme%2Fedge/gateway/flaky-tests",
    });
    assert.match(content && "text" in content ? content.text : "", /forwards headers/);
  });

  it("page through lists to their end", async () => {
    const repository = { owner: "acme", name: "web-shop" };
    const { data } = await tools.call("list_recent_submissions", { ...repository, limit: 1 });
    const [{ id: submission_id }] = data.submissions as [{ id: string }];
    for (
      const { tool, args, list } of [
        {
          tool: "get_submission_test_results",
          args: { ...repository, submission_id, status: "all" },
          list: "tests",
        },
        { tool: "find_flaky_tests", args: {}, list: "tests" },
        {
          tool: "list_recent_submissions",
          args: repository,
          list: "submissions",
        },
      ]
    ) {
      const whole = (await tools.call(tool, { ...args, limit: 100 })).data;
      const found: unknown[] = [];
      let after: unknown;
      do {
        const { data } = await tools.call(tool, { ...args, limit: 2, ...after ? { after } : {} });
        found.push(...data[list] as unknown[]);
        after = data.next_cursor;
      } while (after !== null);
      assert.equal(found.length, whole.count);
      assert.deepEqual(found, whole[list]);
    }
  });

  it("say what to do when something is wrong", async () => {
    for (
      const [tool, args, message] of [
        ["get_repo_flakiness", { repository: "acme/nope" }, /No repository "acme\/nope"/],
        ["list_recent_submissions", { owner: "nobody", name: "web-shop" }, /No repository/],
        ["get_test_history", { test_id: "f".repeat(24) }, /No test "f{24}".*find_flaky_tests/],
        ["get_test_history", { test_id: "pays" }, /invalid id "pays".*find_flaky_tests/],
        ["find_flaky_tests", { search: "last-seen:>soon" }, /search: term 1/],
        ["find_flaky_tests", { after: "x" }, /after: .*next_cursor/],
        ["list_recent_submissions", { owner: "acme", name: "web-shop", after: "x" }, /after: /],
      ] as const
    ) {
      const { isError, text } = await tools.call(tool, args);
      assert.ok(isError, text);
      assert.match(text, message);
    }
  });

  it("have prompts and the inventory as a resource", async () => {
    const { messages } = await tools.client.getPrompt({
      name: "triage_flaky_tests",
      arguments: { repository: REPOSITORY },
    });
    assert.match(JSON.stringify(messages), /acme\/web-shop/);
    const { contents: [content] } = await tools.client.readResource({
      uri: "test-analytics://repos/acme/web-shop/flaky-tests",
    });
    const { data } = await tools.call("find_flaky_tests", { repository: REPOSITORY });
    assert.deepEqual(JSON.parse(content && "text" in content ? content.text : ""), data);
  });

  it(`answer ${CALLS_AT_ONCE} calls at once`, async () => {
    const calls = Array.from(
      { length: CALLS_AT_ONCE },
      (_, index) =>
        index % 2 === 0
          ? tools.call("find_flaky_tests", { repository: REPOSITORY, limit: 1 + index % 5 })
          : tools.call("get_repo_flakiness", { repository: REPOSITORY }),
    );
    const answers = await Promise.all(calls);
    for (const [index, { isError, data, text }] of answers.entries()) {
      assert.ok(!isError, text);
      if (index % 2 === 0) {
        assert.equal((data.tests as unknown[]).length, Math.min(1 + index % 5, Number(data.count)));
      }
    }
  });

  it("name the variable when the token is refused, and never the token", async () => {
    const refused = await connect({ ...environment, PLATFORM_API_TOKEN: FAKE_TOKEN });
    const { isError, text } = await refused.call("find_flaky_tests");
    await refused.client.close();
    assert.ok(isError);
    assert.match(text, /PLATFORM_API_TOKEN/);
    assert.ok(!(text + refused.stderr()).includes(FAKE_TOKEN));
  });

  it("answer clients of the revision of 2026 as well", async () => {
    const modern = await connect(environment, {
      versionNegotiation: { mode: { pin: "2026-07-28" } },
    });
    const { data } = await modern.call("find_flaky_tests", { repository: REPOSITORY });
    await modern.client.close();
    assert.ok(Number(data.count) > 0);
  });
});

describe("the command mcp", () => {
  it("needs a token", async () => {
    for (const token of ["", " "]) {
      const { code, stdout, stderr } = await run(["mcp"], { PLATFORM_API_TOKEN: token });
      assert.deepEqual([code, stdout], [1, ""]);
      assert.match(stderr, /^error: PLATFORM_API_TOKEN is missing[^\n]*\n$/);
    }
  });

  it("rejects an invalid address", async () => {
    const { code, stdout, stderr } = await run(["mcp"], {
      PLATFORM_API_TOKEN: FAKE_TOKEN,
      PLATFORM_API_URL: "localhost:8000",
    });
    assert.deepEqual([code, stdout], [1, ""]);
    assert.match(stderr, /^error: PLATFORM_API_URL is not a base address[^\n]*\n$/);
  });

  it("answers the lines of a pipe, and ends", async () => {
    const api = startFakeApi(async () => {
      await pause(200);
      return Response.json(flakyPage());
    });
    const process = startToolProcess({
      PLATFORM_API_TOKEN: FAKE_TOKEN,
      PLATFORM_API_URL: api.url,
    });
    await process.send("initialize", initialize("2025-06-18"));
    await process.send("tools/call", { name: "find_flaky_tests", arguments: {} });
    await process.closeInput();
    assert.deepEqual([(await process.receive()).id, (await process.receive()).id], [1, 2]);
    assert.deepEqual(await process.end(), { code: 0, rest: "", stderr: "" });
    assert.match(api.received[0]?.headers.get("user-agent") ?? "", /^test-analytics-mcp\/\d/);
    await api.close();
  });

  it("ends cleanly on SIGTERM and SIGINT, whatever is in flight", async () => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      const late = Promise.withResolvers<Response>();
      const api = startFakeApi(() => late.promise);
      const process = startToolProcess({
        PLATFORM_API_TOKEN: FAKE_TOKEN,
        PLATFORM_API_URL: api.url,
      });
      await process.send("initialize", initialize("2025-06-18"));
      await process.receive();
      await process.send("tools/call", { name: "find_flaky_tests", arguments: {} });
      await waitUntil("the API has the request", () => api.received.length > 0);
      process.kill(signal);
      assert.deepEqual(await process.end(), { code: 0, rest: "", stderr: "" });
      late.resolve(new Response());
      await api.close();
    }
  });

  it("names the address that it cannot reach", async () => {
    const api = startFakeApi(() => new Response());
    await api.close();
    const { client, call } = await connect({
      PLATFORM_API_TOKEN: FAKE_TOKEN,
      PLATFORM_API_URL: api.url,
    });
    const { isError, text } = await call("get_repo_coverage", { repository: "web" });
    await client.close();
    assert.ok(isError);
    assert.ok(text.includes(`${api.url} cannot be reached`), text);
  });
});
