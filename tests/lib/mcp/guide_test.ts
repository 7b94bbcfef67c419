/** `docs/guides/agents.md` says what the tools are. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  DEFAULT_API_URL,
  TOKEN_VARIABLE,
  URL_VARIABLE,
} from "../../../lib/api_client/api_settings.ts";
import { BODY_CHARACTERS, MESSAGE_CHARACTERS } from "../../../lib/mcp/output.ts";
import { connect, type Connection } from "./connect.ts";

const GUIDE = new URL("../../../docs/guides/agents.md", import.meta.url);

/** The cells of the table rows that begin with a name in code, by that name. */
function rowsOf(section: string): Map<string, string[]> {
  return new Map(
    [...section.matchAll(/^\| `([^`]+)` *\|(.*)\|$/gm)].map(([, name = "", cells = ""]) => [
      name,
      cells.split("|").map((cell) => cell.trim()),
    ]),
  );
}

/** Names in code; a star marks those that are required. */
function namesIn(cell: string | undefined): string[] {
  return [...(cell ?? "").matchAll(/`(\w+)`(\\\*)?/g)].map(([, name, star]) =>
    `${name}${star ? "*" : ""}`
  );
}

function namesOf(schema: { properties?: object; required?: string[] } | undefined): string[] {
  return Object.keys(schema?.properties ?? {}).map((name) =>
    `${name}${schema?.required?.includes(name) ? "*" : ""}`
  );
}

describe("the guide for agents", () => {
  let guide = "";
  let connection: Connection;

  before(async () => {
    guide = await Deno.readTextFile(GUIDE);
    connection = await connect(DEFAULT_API_URL);
  });
  after(() => connection.close());

  const section = (title: string) =>
    guide.split(/^## /m).find((one) => one.startsWith(title)) ?? "";

  it("has configurations that parse, start the command and give it both variables", () => {
    const blocks = [...guide.matchAll(/```json\n(.*?)```/gs)].map(([, text = ""]) =>
      JSON.parse(text)
    );
    assert.equal(blocks.length, 2);
    for (const block of blocks) {
      const servers = block.mcpServers ?? block.servers;
      const server = servers["test-analytics"];
      assert.match(server.command, /(^|\/)test-analytics$/);
      assert.deepEqual(server.args, ["mcp"]);
      assert.deepEqual(Object.keys(server.env), [TOKEN_VARIABLE, URL_VARIABLE]);
    }
    const [toml = ""] = /```toml\n.*?```/s.exec(guide) ?? [];
    for (const part of [TOKEN_VARIABLE, URL_VARIABLE, 'args = ["mcp"]']) {
      assert.ok(toml.includes(part));
    }
  });

  it("names the default address and where messages are cut", () => {
    assert.ok(rowsOf(guide).get(URL_VARIABLE)?.[0]?.includes(DEFAULT_API_URL));
    assert.ok(guide.includes(`after ${MESSAGE_CHARACTERS} characters`));
    assert.ok(guide.includes(`${BODY_CHARACTERS} characters`));
  });

  it("lists the tools with their arguments and outputs", async () => {
    const rows = rowsOf(section("Tools"));
    const { tools } = await connection.client.listTools();
    assert.deepEqual([...rows.keys()], tools.map((tool) => tool.name));
    for (const tool of tools) {
      const [input, output] = rows.get(tool.name) ?? [];
      assert.deepEqual(namesIn(input), namesOf(tool.inputSchema), tool.name);
      const answer = tool.outputSchema as { properties?: object } | undefined;
      assert.deepEqual(
        namesIn(output),
        namesOf({ properties: answer?.properties ?? {} }),
        tool.name,
      );
    }
  });

  it("lists the prompts with their arguments", async () => {
    const rows = rowsOf(section("Prompts"));
    const { prompts } = await connection.client.listPrompts();
    assert.deepEqual([...rows.keys()], prompts.map((prompt) => prompt.name));
    for (const { name, arguments: args = [] } of prompts) {
      const names = args.map((arg) => `${arg.name}${arg.required ? "*" : ""}`);
      assert.deepEqual(namesIn(rows.get(name)?.[0]), names);
    }
  });

  it("lists the resource templates", async () => {
    const { resourceTemplates } = await connection.client.listResourceTemplates();
    const listed = [...rowsOf(section("Resources")).keys()];
    assert.deepEqual(listed, resourceTemplates.map((template) => template.uriTemplate));
  });
});
