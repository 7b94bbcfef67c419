// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import { VERSION } from "../../base/version.ts";
import { DEFAULT_API_URL, TOKEN_VARIABLE, URL_VARIABLE } from "../../api_client/api_settings.ts";
import { readApiAccess, readPublicUrl } from "../settings.ts";
import { type AddCommand, command } from "../command.ts";

export const mcpCommand: AddCommand = command({
  name: "mcp",
  summary: `Serve agent tools (MCP) on standard input and output; calls the API at ` +
    `${URL_VARIABLE} (default: ${DEFAULT_API_URL}) with the token in ${TOKEN_VARIABLE}`,
  example: "mcp",
  environment: ["PLATFORM_API_TOKEN", "PLATFORM_API_TOKEN_FILE", "PLATFORM_API_URL", "PUBLIC_URL"],
  usesDatabase: false,
  input: {},
  async run(_input, context) {
    const { io } = context;
    const access = readApiAccess(io.environment);
    // No other command needs the library of the protocol.
    const { serveTools } = await import("../../mcp/mod.ts");
    const webUrl = readPublicUrl(io.environment) || access.baseUrl;
    await serveTools({ ...access, webUrl, version: VERSION, stop: io.stop, note: context.note });
  },
});
