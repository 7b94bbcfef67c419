/**
 * Sockets for postgres.js, which this module makes so that losing one is noticed by all statements
 * on it. Left to itself the library forgets a statement that comes between a socket's error and its
 * end (it waits for ever), and never again uses a connection whose socket could not be made.
 */

import { connect, type Socket } from "node:net";
import { Duplex } from "node:stream";

/** An address of a server. */
export interface Address {
  /** Name or IP address, or the folder of a Unix socket. */
  host: string;
  port: number;
}

/**
 * Connects to an address.
 *
 * @throws {Error} with the code of the system or `CONNECT_TIMEOUT`
 */
export function connectTo({ host, port }: Address, timeoutMs: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = host.startsWith("/")
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect({ host, port, noDelay: true });
    const fail = (error: Error) => {
      clearTimeout(timer);
      socket.destroy();
      reject(error);
    };
    const timer = setTimeout(
      () => fail(noAnswer()),
      timeoutMs,
    );
    socket.once("error", fail);
    socket.once("connect", () => {
      clearTimeout(timer);
      socket.off("error", fail);
      // The library checks the certificate against this name.
      resolve(Object.assign(socket, { host, port }));
    });
  });
}

/** A server took too long. */
export function noAnswer(): Error {
  return Object.assign(new Error("no answer in time"), { code: "CONNECT_TIMEOUT" });
}

/** Makes a socket tell of its loss once, at its end, which makes the library fail all that waits. */
export function steady(socket: Socket): Socket {
  const on = socket.on.bind(socket);
  socket.on = ((event: string, listener: (...values: unknown[]) => void) => {
    if (event === "error") return on("error", () => {});
    if (event === "close") return on("close", () => listener(false));
    return on(event, listener);
  }) as typeof socket.on;
  return socket;
}

/** A socket that fails with `error`. */
export function brokenSocket(error: unknown): Duplex {
  const reason = error instanceof Error ? error : new Error(String(error));
  const socket = new Duplex({
    read() {},
    // Not before the library has sent its first message, or it will not send one the next time.
    write: (_chunk, _encoding, done) => done(reason),
  });
  // It may have been stuck already, and send none.
  setImmediate(() => setImmediate(() => socket.destroy(reason)));
  return socket;
}
