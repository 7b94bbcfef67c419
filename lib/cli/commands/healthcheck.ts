// Tests: tests/lib/cli/commands/completion_test.ts tests/lib/cli/program_test.ts
import { type AddCommand, command } from "../command.ts";
import { Failure, UsageError } from "../../base/failure.ts";

// /health does not use the database.
const TIMEOUT_MS = 3_000;

export const healthcheckCommand: AddCommand = command({
  name: "healthcheck",
  summary: "Check that the service on this machine responds",
  example: "healthcheck --port 8000",
  details: [
    "For containers and service managers: sends GET /health to HOST and PORT, with a timeout of " +
    `${TIMEOUT_MS / 1000} seconds.`,
  ],
  usesDatabase: false,
  settings: ["HOST", "PORT"],
  input: {},
  async run(_input, context, { HOST, PORT }) {
    if (PORT === 0) throw new UsageError("port 0: expected the port that serve listens on");
    const url = `http://${connectAddress(HOST)}:${PORT}/health`;
    const options = { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "manual" as const };
    const found = await fetch(url, options).then((response) => response.text()).catch((error) => {
      throw new Failure(`no response from ${url}: ${error.cause?.message ?? error.message}`);
    });
    if (found.trim() !== '{"status":"ok"}') {
      throw new Failure(`unexpected response from ${url}: expected {"status":"ok"}`);
    }
    await context.print("ok", { status: "ok", url });
  },
});

/** The address to connect to when the service listens on all addresses. */
function connectAddress(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
