import { Failure } from "./errors.ts";

/** What sharing a port depends on. */
export interface Platform {
  /** Operating system, as `Deno.build.os` calls it. */
  os: string;
  /** Whether Deno was started with `--unstable-net`. */
  hasUnstableNet: boolean;
}

// `listenDatagram` exists only with the flag; without it, a shared port ends the process.
const PLATFORM: Platform = { os: Deno.build.os, hasUnstableNet: "listenDatagram" in Deno };

/**
 * Checks that several processes can share a port, which needs Linux: macOS accepts the option and
 * gives all connections to one process.
 *
 * @throws {Failure} when they cannot
 */
export function requireSharedPorts({ os, hasUnstableNet }: Platform = PLATFORM): void {
  if (os !== "linux") {
    throw new Failure(
      `--reuse-port (REUSE_PORT) needs Linux, found ${os}: use a port for each process and a proxy ` +
        "in front of them",
    );
  }
  if (!hasUnstableNet) {
    throw new Failure(
      "--reuse-port (REUSE_PORT) needs --unstable-net: start it with " +
        "`deno run --unstable-net ... serve --reuse-port`",
    );
  }
}
