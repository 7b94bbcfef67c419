import { errorFields, type Log } from "../log.ts";
import type { App } from "./app.ts";
import { internalServerError } from "./errors.ts";

/** Long enough for any request that is being answered, shorter than what a service manager waits. */
export const DRAIN_TIMEOUT_MS = 10_000;

/** Where to listen. */
export interface ListenOptions {
  host: string;
  /** 0 takes any free port. */
  port: number;
  log: Log;
  /** How long `shutdown` lets running requests finish. */
  drainTimeoutMs: number;
}

/** A server that listens. */
export interface RunningServer {
  /** Such as `http://127.0.0.1:8000`. */
  url: string;
  /** Takes no more requests, lets running ones finish, and gives up those that take too long. */
  shutdown(): Promise<void>;
}

// What is left to write then is a few empty answers.
const LAST_WORDS_TIMEOUT_MS = 1_000;

/**
 * Listens, and lets the app answer until it is shut down.
 *
 * @throws {Deno.errors.AddrInUse} when another program listens there, and other errors of `listen`
 */
export function listen(app: App, options: ListenOptions): RunningServer {
  const { host, port, log, drainTimeoutMs } = options;
  /** Answers the requests that are running, before the app does. */
  const running = new Set<(response: Response) => void>();
  const server = Deno.serve({
    hostname: host,
    port,
    onListen: () => {},
    onError: (error) => {
      log.error("failed", errorFields(error));
      return internalServerError();
    },
  }, (request) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    running.add(resolve);
    app(request).then(resolve, reject).finally(() => running.delete(resolve));
    return promise;
  });
  return {
    url: urlOf(server.addr),
    async shutdown() {
      const drained = server.shutdown();
      if (await isDoneWithin(drained, drainTimeoutMs)) return;
      log.warn("gave up running requests", { count: running.size, after_ms: drainTimeoutMs });
      // The `signal` of Deno.serve could cut them, but not once it is shutting down.
      for (const answer of running) answer(internalServerError());
      await isDoneWithin(drained, LAST_WORDS_TIMEOUT_MS);
    },
  };
}

async function isDoneWithin(work: Promise<unknown>, timeoutMs: number): Promise<boolean> {
  const { promise: timeout, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), timeoutMs);
  try {
    return await Promise.race([work.then(() => true), timeout]);
  } finally {
    clearTimeout(timer);
  }
}

function urlOf({ hostname, port }: Deno.NetAddr): string {
  return `http://${hostname.includes(":") ? `[${hostname}]` : hostname}:${port}`;
}
