import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { serveTools } from "../../../lib/mcp/mod.ts";
import { FAKE_TOKEN } from "../api_client/fake_api.ts";

const REVISIONS = [
  { requested: "2024-11-05", agreed: "2024-11-05" },
  { requested: "2025-03-26", agreed: "2025-03-26" },
  { requested: "2025-06-18", agreed: "2025-06-18" },
  { requested: "2025-11-25", agreed: "2025-11-25" },
  { requested: "1999-01-01", agreed: "2025-11-25" },
];

/** Serves some messages, one per line, and returns the responses. */
async function responsesTo(...messages: object[]) {
  const [input, output] = [new PassThrough(), new PassThrough()];
  let written = "";
  output.on("data", (part) => written += part);
  const notes: string[] = [];
  for (const message of messages) {
    input.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  }
  input.end();
  await serveTools({
    version: "1.2.3",
    webUrl: "",
    baseUrl: "http://127.0.0.1:1",
    token: FAKE_TOKEN,
    input,
    output,
    stop: new AbortController().signal,
    note: (text) => void notes.push(text),
  });
  assert.deepEqual(notes, []);
  return written.trimEnd().split("\n").map((line) => JSON.parse(line));
}

describe("the agent tools over standard input", () => {
  for (const { requested, agreed } of REVISIONS) {
    it(`agree on revision ${agreed} of the protocol when ${requested} is requested`, async () => {
      const clientInfo = { name: "test", version: "1" };
      const [initialized, listed] = await responsesTo(
        {
          id: 1,
          method: "initialize",
          params: { protocolVersion: requested, capabilities: {}, clientInfo },
        },
        { method: "notifications/initialized" },
        { id: 2, method: "tools/list" },
      );
      assert.equal(initialized.result.protocolVersion, agreed);
      assert.equal(listed.result.tools.length, 13);
    });
  }
});
