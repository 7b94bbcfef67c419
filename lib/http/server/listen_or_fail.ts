// Tests: tests/lib/cli/commands/serve_test.ts
import { Failure } from "../../base/failure.ts";

/** Ports after a taken one that are tried. */
const TRIED_PORTS = 20;

/** The next port that nothing listens on; 0 if there is none among the next ones. */
function freePort(hostname: string, taken: number): number {
  for (let port = taken + 1; port <= Math.min(65_535, taken + TRIED_PORTS); port++) {
    try {
      Deno.listen({ hostname, port }).close();
      return port;
    } catch (error) {
      if (!(error instanceof Deno.errors.AddrInUse)) return 0;
    }
  }
  return 0;
}

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
      ? `port ${port} of ${host} is already in use: use ${portOption} ${
        freePort(host, port)
      }, or ` +
        `${portOption} 0 for any free port`
      : `cannot listen on ${host} port ${port}: ${error.message}`;
    throw new Failure(reason);
  }
}
