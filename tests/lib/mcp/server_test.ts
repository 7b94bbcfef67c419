import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { connect, type Connection } from "./connect.ts";
import { type FakeApi, flakyPage, startFakeApi } from "../api_client/fake_api.ts";

// The list of tools is part of every conversation.
const MAX_TOOL_LIST_BYTES = 13_700;

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
      title: "test-analytics",
      version: "1.2.3",
    });
    assert.match(connection.client.getInstructions() ?? "", /last 14 days/);
  });

  it("keeps the list of tools short enough for any model", async () => {
    const { tools } = await connection.client.listTools();
    const { length } = JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools } });
    assert.ok(length < MAX_TOOL_LIST_BYTES, `${length} bytes`);
    const { tools: listed, prompts, resources } = connection.client.getServerCapabilities() ?? {};
    for (const one of [listed, prompts, resources]) assert.equal(one?.listChanged, false);
  });

  it("describes every tool, its arguments and its output, as read-only", async () => {
    const { tools } = await connection.client.listTools();
    assert.equal(tools.length, 13);
    for (const tool of tools) {
      assert.ok((tool.description?.length ?? 0) > 100, tool.name);
      assert.equal(tool.annotations?.readOnlyHint, true, tool.name);
      assert.equal(tool.inputSchema.additionalProperties, false, tool.name);
      assert.ok(tool.outputSchema?.properties, tool.name);
    }
  });

  it("declares required arguments; a repository is one argument or two", async () => {
    const { tools } = await connection.client.listTools();
    for (const { name, inputSchema: { required, properties = {} } } of tools) {
      const ids = ["test_id", "submission_id"].filter((id) => id in properties);
      assert.deepEqual(required ?? [], ids, name);
      assert.equal("owner" in properties && "name" in properties, "repository" in properties, name);
    }
  });

  it("declares the bounds and defaults of arguments", async () => {
    const { tools } = await connection.client.listTools();
    const of = (tool: string) =>
      tools.find(({ name }) => name === tool)?.inputSchema.properties as Record<string, object>;
    const limit = { type: "integer", minimum: 1, maximum: 100 };
    const { repository, tags, quarantined, ...flaky } = of("find_flaky_tests");
    assert.deepEqual(flaky.limit, { ...limit, default: 25 });
    assert.deepEqual(quarantined, { type: "boolean", default: false });
    assert.partialDeepStrictEqual(tags, { items: { type: "string", pattern: "^[^\\s,]+$" } });
    assert.partialDeepStrictEqual(repository, { minLength: 1 });
    assert.deepEqual(of("list_recent_submissions").limit, { ...limit, default: 10 });
    assert.partialDeepStrictEqual(of("get_test_history").test_id, { pattern: "^[0-9a-fA-F]{24}$" });
    const { pull, owner, name, ...verdicts } = of("get_build_verdicts");
    assert.deepEqual(pull, { type: "integer", minimum: 1 });
    for (const one of [owner, name, verdicts.build_url, verdicts.commit, verdicts.branch]) {
      assert.partialDeepStrictEqual(one, { type: "string", minLength: 1 });
    }
  });

  it("has prompts that name the repository and only tools that exist", async () => {
    const { client } = connection;
    const names = new Set((await client.listTools()).tools.map((tool) => tool.name));
    const { prompts } = await client.listPrompts();
    assert.deepEqual(prompts.map((prompt) => prompt.name), [
      "triage_flaky_tests",
      "ci_health_check",
      "explain_test_failure",
      "whats_red",
    ]);
    for (const { name } of prompts) {
      const { messages } = await client.getPrompt({
        name,
        arguments: { repository: "acme/web" },
      });
      const text = messages.map(({ content }) => content.type === "text" ? content.text : "")
        .join();
      assert.match(text, /"acme\/web"/);
      const named = [...text.matchAll(/\b(?:find|get|list)_\w+/g)].map(([tool]) => tool);
      assert.ok(named.length >= 4, name);
      for (const tool of named) assert.ok(names.has(tool), tool);
    }
  });

  it("includes the failure in the prompt about it", async () => {
    const { messages } = await connection.client.getPrompt({
      name: "explain_test_failure",
      arguments: { repository: "acme/web", failure: "adds an item" },
    });
    assert.match(JSON.stringify(messages), /\\"acme\/web\\": \\"adds an item\\"/);
  });

  it("rejects a prompt without a repository", async () => {
    const wrong: Record<string, string>[] = [{}, { repository: "" }];
    for (const args of wrong) {
      await assert.rejects(
        connection.client.getPrompt({ name: "triage_flaky_tests", arguments: args }),
        { code: -32602, message: /repository/ },
      );
    }
  });

  it("serves the flaky inventory of a repository as a resource", async () => {
    const { client } = connection;
    const { resourceTemplates: [template] } = await client.listResourceTemplates();
    assert.equal(template?.uriTemplate, "test-analytics://repos/{owner}/{name}/flaky-tests");
    const uri = "test-analytics://repos/group%2Fsub/my%20web/flaky-tests";
    const { contents: [content] } = await client.readResource({ uri });
    assert.equal(content?.mimeType, "application/json");
    const { count, tests } = JSON.parse(
      content && "text" in content ? content.text : "",
    );
    assert.deepEqual([count, tests.length], [1, 1]);
    const query = new URL(api.received.at(-1)?.url ?? "", api.url).searchParams;
    assert.equal(query.get("repository"), "group/sub/my web");
    assert.equal(query.get("quarantine"), "false");
  });

  it("rejects unknown resources", async () => {
    const uri = "test-analytics://repos/acme/nope/flaky-tests";
    await assert.rejects(connection.client.readResource({ uri }), {
      message: /No repository "acme\/nope"/,
    });
    for (const uri of ["test-analytics://repos/acme/flaky-tests", "file:///etc/passwd"]) {
      await assert.rejects(connection.client.readResource({ uri }), { code: -32602 });
    }
    await assert.rejects(
      connection.client.readResource({ uri: "test-analytics://repos/a%ff/b/flaky-tests" }),
      { message: /malformed/ },
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
