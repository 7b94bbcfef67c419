import type { Command } from "commander";
import * as v from "valibot";
import { addCommand, type CliIo } from "../command.ts";
import { Failure, UsageError } from "../errors.ts";

// The probe asks no database: whatever takes longer is not answering.
const TIMEOUT_MS = 3_000;

/** `healthcheck`. */
export function addHealthcheckCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "healthcheck",
    summary: "Ask the service on this machine whether it answers",
    example: "healthcheck --port 8000",
    details: [
      "For containers and service managers: asks GET /health where serve listens by the same HOST " +
      `and PORT, and waits at most ${TIMEOUT_MS / 1000} seconds.`,
    ],
    exitCodes: { done: "it answers", failed: "it does not answer, or something else does" },
    usesDatabase: false,
    settings: ["HOST", "PORT"],
    input: v.object({}),
    async run(_input, context, { HOST, PORT }) {
      if (PORT === 0) throw new UsageError("found port 0, expected the one that serve listens at");
      const url = `http://${reachable(HOST)}:${PORT}/health`;
      const status = await ask(url);
      await context.print(status, { status, url });
    },
  });
}

async function ask(url: string): Promise<string> {
  let text: string;
  try {
    const response = await fetch(url, {
      signal: AbortSignal.timeout(TIMEOUT_MS),
      redirect: "manual",
    });
    text = await response.text();
    if (response.status !== 200) throw new Failure(`${url} answered with ${response.status}`);
  } catch (error) {
    if (error instanceof Failure) throw error;
    throw new Failure(`${url} does not answer: ${reasonOf(error)}`);
  }
  if (text.trim() !== '{"status":"ok"}') {
    throw new Failure(`${url} is answered by something else: expected {"status":"ok"}`);
  }
  return "ok";
}

/** "fetch failed" alone helps nobody. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

/** Where a service that listens on all addresses can be asked. */
function reachable(host: string): string {
  if (host === "0.0.0.0") return "127.0.0.1";
  if (host === "::") return "[::1]";
  return host.includes(":") ? `[${host}]` : host;
}
