// Tests: tests/db/connection/connect_test.ts
/**
 * Sockets for postgres.js, made here so that it notices every lost connection. With its own sockets
 * version 3.4.9 never settles a statement that is sent between a socket's `error` and `close`, and
 * never again uses a connection whose socket could not be made.
 */
import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";
import { connectTimeout } from "./errors.ts";

/** Connects to an address. @throws {Error} with a system error code or `CONNECT_TIMEOUT` */
export function connectTo(
  { host, port }: { host: string; port: number },
  timeoutMs: number,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = host.startsWith("/")
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect({ host, port, noDelay: true });
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(() => fail(connectTimeout()), timeoutMs);
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      // postgres.js checks the certificate against this name.
      resolve(Object.assign(socket, { host, port }));
    });
  });
}

/** Suppresses `error` and the flag of `close`: postgres.js then fails all statements at the end. */
export function suppressErrorEvent(socket: Socket): Socket {
  const on = socket.on.bind(socket);
  socket.on = ((event: string, listener: (...values: unknown[]) => void) => {
    if (event === "error") return on("error", () => {});
    if (event === "close") return on("close", () => listener(false));
    return on(event, listener);
  }) as typeof socket.on;
  return socket;
}

/** Creates a socket that fails with `error`, which postgres.js handles like a lost connection. */
export function failingSocket(error: unknown): Duplex {
  const reason = error instanceof Error ? error : new Error(String(error));
  const socket = new Duplex({
    read() {},
    // Failing before the first message would keep postgres.js from sending it the next time.
    write: (_chunk, _encoding, done) => done(reason),
  });
  // A connection that is stuck already sends no message.
  setImmediate(() => setImmediate(() => socket.destroy(reason)));
  return socket;
}
