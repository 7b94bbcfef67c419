import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { connect, type Connection } from "./connect.ts";
import { type FakeApi, flakyPage, startFakeApi } from "../api_client/fake_api.ts";

// The list of tools is part of every conversation.
const MAX_TOOL_LIST_TOKENS = 5000;

describe("the agent tool server", () => {
  let api: FakeApi;
  let connection: Connection;

  before(async () => {
    api = startFakeApi((request) =>
      new URL(request.url).searchParams.get("repository") === "acme/nope"
        ? Response.json({ message: "Not Found" }, { status: 404 })
        : Response.json(flakyPage())
    );
    connection = await connect(api.url);
  });
  after(async () => {
    await connection.close();
    await api.close();
  });

  it("has a name, a version and instructions", () => {
    assert.deepEqual(connection.client.getServerVersion(), {
      name: "test-analytics",
      title: "Test Analytics Platform",
      version: "1.2.3",
    });
    assert.match(connection.client.getInstructions() ?? "", /last 14 days/);
  });

  it("keeps the list of tools short enough for any model", async () => {
    const { tools } = await connection.client.listTools();
    const tokens = JSON.stringify(tools).length / 4;
    assert.ok(tokens < MAX_TOOL_LIST_TOKENS, `${tokens} tokens`);
  });

  it("describes every tool, its arguments and its output, as read-only", async () => {
    const { tools } = await connection.client.listTools();
    assert.equal(tools.length, 10);
    for (const tool of tools) {
      assert.ok((tool.description?.length ?? 0) > 100, tool.name);
      assert.equal(tool.annotations?.readOnlyHint, true, tool.name);
      assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
      assert.ok(tool.outputSchema?.properties, tool.name);
    }
  });

  it("declares required arguments", async () => {
    const { tools } = await connection.client.listTools();
    assert.deepEqual(
      Object.fromEntries(tools.map((tool) => [tool.name, tool.inputSchema.required])),
      {
        find_flaky_tests: [],
        get_test_history: ["test_id"],
        list_recent_submissions: ["owner", "name"],
        get_repo_flakiness: ["repository"],
        get_repo_coverage: ["repository"],
        list_my_organizations: [],
        list_repositories: [],
        get_submission_test_results: ["owner", "name", "submission_id"],
        get_recent_failures: ["owner", "name"],
        get_test_details: ["test_id"],
      },
    );
  });

  it("hides internal errors from the client", async () => {
    const fail = () => Promise.reject(new Error("internal details"));
    const broken = await connect(api.url, fail);
    try {
      const { isError, text } = await broken.call("find_flaky_tests");
      assert.ok(isError);
      assert.doesNotMatch(text, /internal details/);
      assert.match(String(broken.errors), /internal details/);
    } finally {
      await broken.close();
    }
  });
});
