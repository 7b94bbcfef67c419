import { Failure } from "./errors.ts";

/**
 * Starts a server.
 *
 * @throws {Failure} when it cannot listen on the address
 */
export function listenOrFail<T>(
  { host, port, portOption = "--port" }: {
    host: string;
    port: number;
    portOption?: string | undefined;
  },
  start: () => T,
): T {
  try {
    return start();
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) {
      throw new Failure(
        `port ${port} of ${host} is already in use: use ${portOption} ${
          port + 1
        }, or ${portOption} 0 for any ` +
          "free port",
      );
    }
    if (!(error instanceof Error)) throw error;
    throw new Failure(`cannot listen on ${host} port ${port}: ${error.message}`);
  }
}
