import process from "node:process";
import { VERSION } from "../../base/version.ts";
import {
  type ApiSettings,
  DEFAULT_API_URL,
  readApiSettings,
  TOKEN_VARIABLE,
  URL_VARIABLE,
} from "../../mcp/settings.ts";
import { type AddCommand, type CliIo, command } from "../command.ts";
import { Failure } from "../errors.ts";
import { readSecret } from "../settings.ts";

export const mcpCommand: AddCommand = command({
  name: "mcp",
  summary: `Serve agent tools (MCP) on standard input and output; calls the API at ` +
    `${URL_VARIABLE} (default: ${DEFAULT_API_URL}) with the token in ${TOKEN_VARIABLE}`,
  example: "mcp",
  environment: ["PLATFORM_API_TOKEN", "PLATFORM_API_TOKEN_FILE", "PLATFORM_API_URL"],
  usesDatabase: false,
  input: {},
  async run(_input, context) {
    const { io } = context;
    const settings = settingsOf(io);
    // No other command needs the library of the protocol.
    const { serveTools } = await import("../../mcp/mod.ts");
    await serveTools({
      ...settings,
      version: VERSION,
      input: process.stdin,
      write: io.stdout,
      stop: io.stop,
      note: context.note,
    });
  },
});

function settingsOf(io: CliIo): ApiSettings {
  try {
    const token = readSecret(io.environment, TOKEN_VARIABLE);
    return readApiSettings({ ...io.environment, [TOKEN_VARIABLE]: token });
  } catch (error) {
    if (error instanceof TypeError) throw new Failure(error.message);
    throw error;
  }
}
