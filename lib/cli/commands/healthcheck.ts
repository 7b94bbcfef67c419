import { type AddCommand, command } from "../command.ts";
import { Failure, UsageError } from "../errors.ts";

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
  exitCodes: { done: "healthy", failed: "no response, or not from this program" },
  usesDatabase: false,
  settings: ["HOST", "PORT"],
  input: {},
  async run(_input, context, { HOST, PORT }) {
    if (PORT === 0) throw new UsageError("port 0: expected the port that serve listens on");
    const url = `http://${reachable(HOST)}:${PORT}/health`;
    const options = { signal: AbortSignal.timeout(TIMEOUT_MS), redirect: "manual" as const };
    const { status, text } = await fetch(url, options)
      .then(async (response) => ({ status: response.status, text: await response.text() }))
      .catch((error) => {
        throw new Failure(`no response from ${url}: ${reasonOf(error)}`);
      });
    if (status !== 200) {
      throw new Failure(`${url} responded with status ${status}, expected 200`);
    }
    if (text.trim() !== '{"status":"ok"}') {
      throw new Failure(`unexpected response from ${url}: expected {"status":"ok"}`);
    }
    await context.print("ok", { status: "ok", url });
  },
});

/** The cause of "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** The address to connect to when the service listens on all addresses. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
