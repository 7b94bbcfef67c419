// Tests: tests/lib/cli/commands/serve_test.ts
import { Failure } from "../../base/failure.ts";

/** Starts a server. @throws {Failure} when it cannot listen on the address */
export function listenOrFail<T>(
  { host, port, portOption = "--port" }: { host: string; port: number; portOption?: string },
  start: () => T,
): T {
  try {
    return start();
  } catch (error) {
    if (!(error instanceof Error)) throw error;
    const reason = error instanceof Deno.errors.AddrInUse
      ? `port ${port} of ${host} is already in use: use ${portOption} ${port + 1}, or ` +
        `${portOption} 0 for any free port`
      : `cannot listen on ${host} port ${port}: ${error.message}`;
    throw new Failure(reason);
  }
}
