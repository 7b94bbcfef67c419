import { Failure } from "./errors.ts";

/** What sharing a port depends on. */
export interface Surroundings {
  /** Operating system, as `Deno.build.os` calls it. */
  os: string;
  /** Whether Deno was started with `--unstable-net`. */
  hasUnstableNet: boolean;
}

// There only with the flag. Without it, asking for a shared port ends the process.
const HERE: Surroundings = { os: Deno.build.os, hasUnstableNet: "listenDatagram" in Deno };

/**
 * Makes sure that several processes can listen on one port here. Elsewhere than on Linux the option
 * exists and shares nothing: macOS gives all connections to one process.
 *
 * @throws {Failure} when they cannot
 */
export function requireSharedPorts({ os, hasUnstableNet }: Surroundings = HERE): void {
  if (os !== "linux") {
    throw new Failure(
      `--reuse-port (REUSE_PORT) is for Linux, this is ${os}: expected a port for each process, ` +
        "and a proxy in front of them",
    );
  }
  if (!hasUnstableNet) {
    throw new Failure(
      "--reuse-port (REUSE_PORT) needs a flag of Deno's: expected " +
        "`deno run --unstable-net ... serve --reuse-port`",
    );
  }
}
