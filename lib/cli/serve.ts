import type { Command } from "commander";
import * as v from "valibot";
import type { Database } from "../../db/connect.ts";
import { serve } from "../../routes/serve.ts";
import { setting } from "../config.ts";
import { addCommand, type CliIo } from "./command.ts";
import { reopenForReading } from "./database.ts";
import { Failure, UsageError } from "./errors.ts";
import { lineOfText, port } from "./values.ts";

/** `serve`. */
export function addServeCommand(program: Command, io: CliIo): void {
  addCommand(program, io, {
    name: "serve",
    summary: "Serve the HTTP API until SIGTERM or SIGINT",
    example: "serve --port 8000",
    options: [
      { flags: "--host <address>", meaning: "address to listen on (default: HOST, or 127.0.0.1)" },
      {
        flags: "--port <n>",
        meaning: "port to listen on, 0: any free port (default: PORT, or 8000)",
      },
    ],
    input: v.object({ host: v.optional(lineOfText), port: v.optional(port) }),
    async run(flags, context) {
      const address = listenAddress(io, flags);
      const database = await reopenForReading(await context.openDatabase(), context.database);
      try {
        await serveUntilStopped(io, { database, ...address });
      } finally {
        await database.close();
      }
    },
  });
}

/**
 * Where to listen: by flag, else by environment.
 *
 * @throws {UsageError} when the environment's port is none
 */
export function listenAddress(
  io: Pick<CliIo, "environment">,
  flags: { host?: string | undefined; port?: number | undefined },
): { host: string; port: number } {
  const host = flags.host ?? setting(io.environment, "HOST");
  if (flags.port !== undefined) return { host, port: flags.port };
  const result = v.safeParse(port, setting(io.environment, "PORT"));
  if (!result.success) throw new UsageError(`PORT: ${result.issues[0].message}`);
  return { host, port: result.output };
}

/**
 * Serves until the first signal, then lets running requests end; the second ends at once.
 *
 * @param options.onReady called with the base address once requests are answered
 * @throws {Failure} when the address is taken or not this machine's
 */
export async function serveUntilStopped(
  io: CliIo,
  { database, onReady, ...address }: {
    database: Database;
    host: string;
    port: number;
    onReady?: (url: string) => Promise<void>;
  },
): Promise<void> {
  // Asked for first, so that a signal which comes while starting is heard too.
  const { stop } = io;
  const server = listen(io, { database, ...address });
  try {
    await onReady?.(server.url);
    io.stderr(`listening on ${server.url}\n`);
    await aborted(stop);
  } finally {
    await Promise.race([server.shutdown(), aborted(io.stopAtOnce)]);
  }
}

function listen(
  io: CliIo,
  { database, host, port }: { database: Database; host: string; port: number },
): ReturnType<typeof serve> {
  try {
    return serve({ sql: database.sql, writeLog: io.stderr, host, port });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new Failure(`port ${port} of ${host} is taken: expected a free one, --port 0 finds it`);
    }
    if (!(error instanceof Error)) throw error;
    throw new Failure(`it is not possible to listen on ${host}, port ${port}: ${error.message}`);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
