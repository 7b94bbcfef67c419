/**
 * Multiplexes PostgreSQL clients onto a database that has only one session, such as the embedded one.
 *
 * A client owns the session from its first message until the database is ready for a statement
 * outside a transaction. Switching earlier would mix clients up: they share the unnamed portal, and
 * "skip everything until Sync" after an error would affect the wrong one.
 */

import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { pause } from "../../lib/base/delay.ts";
import {
  diskFullError,
  IncomingBytes,
  message,
  ResponseReader,
  SSL_REQUEST_MESSAGE,
  takeTurn,
} from "./messages.ts";

/** The session: takes messages of a client, and passes the responses to a callback. */
export interface Session {
  execProtocolRawStream(
    message: Uint8Array,
    options: { onRawData: (bytes: Uint8Array) => void },
  ): Promise<void>;
}

/**
 * A client that owns the session and is silent for this long is disconnected, so that a suspended
 * process does not block all others. Our transactions do nothing but run statements.
 */
const SILENCE_TIMEOUT_MS = 60_000;

/** A second of uploads writes some megabytes of log. */
const MAINTENANCE_MS = 1_000;

/**
 * Parameter that an owner which is shutting down reports to its clients. They connect to the next
 * owner for later statements, and finish what they have begun.
 */
export const SHUTTING_DOWN = "test_analytics.shutting_down";

const PROTOCOL_3 = 196608;

interface Client {
  socket: Socket;
  incoming: IncomingBytes;
  started: boolean;
  /** Named statements, which stay in the session unless they are closed, and whether they write. */
  statements: Map<string, boolean>;
  gone: boolean;
  knowsOfShutdown: boolean;
}

interface SessionServerOptions {
  /** Called once when the session breaks; all clients are disconnected. */
  onFailure(error: unknown): void;
  /** How long a client may own the session in silence. */
  silenceTimeoutMs?: number;
  /** Called before each statement that writes; returns why it is refused, or `null`. */
  refuseWrites?(): string | null;
  /** Called between transactions after something was written, at most once in `MAINTENANCE_MS`. */
  maintain?(): Promise<void>;
}

/** Gives the one session to clients by turns. */
export class SessionServer {
  readonly #clients = new Set<Client>();
  /** Clients with something to do, in the order of their requests. */
  readonly #queue = new Set<Client>();
  #owner: Client | undefined;
  #greeting: Promise<Buffer> | undefined;
  #running = false;
  #draining = false;
  #failed = false;
  #wasWritten = false;
  #maintainedAt = -Infinity;
  #silence: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly session: Session, private readonly options: SessionServerOptions) {}

  /** Serves a client until its connection is closed. */
  accept(socket: Socket): void {
    if (this.#draining || this.#failed) return void socket.destroy();
    const client: Client = {
      socket,
      incoming: new IncomingBytes(),
      started: false,
      statements: new Map(),
      gone: false,
      knowsOfShutdown: false,
    };
    this.#clients.add(client);
    socket.on("data", (chunk: Buffer) => {
      const { incoming } = client;
      incoming.push(chunk);
      // Not queued: a client that is being accepted does not wait for the others.
      if (!client.started && incoming.bytes().equals(SSL_REQUEST_MESSAGE)) {
        incoming.keep(Buffer.alloc(0), 8);
        return void socket.write("N");
      }
      if (incoming.isReady) this.#enqueue(client);
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      client.gone = true;
      this.#clients.delete(client);
      this.#enqueue(client);
    });
  }

  /**
   * Asks the clients to leave, which lets them finish their transactions, and disconnects those that
   * have not left after `timeoutMs`.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    if (!this.#running) this.#announceShutdown();
    await this.#untilIdle(timeoutMs);
    for (const client of this.#clients) client.socket.destroy();
    await this.#untilIdle(Infinity);
    clearTimeout(this.#silence);
  }

  async #untilIdle(timeoutMs: number): Promise<void> {
    const deadline = performance.now() + timeoutMs;
    while ((this.#running || this.#clients.size > 0) && performance.now() < deadline) {
      await pause(5);
    }
  }

  /** Between two turns, so that it does not come in the middle of a message. */
  #announceShutdown(): void {
    if (!this.#draining) return;
    for (const client of this.#clients) {
      if (!client.started || client.knowsOfShutdown) continue;
      client.knowsOfShutdown = true;
      client.socket.write(message("S", `${SHUTTING_DOWN}\0on\0`));
    }
  }

  #enqueue(client: Client): void {
    this.#queue.add(client);
    if (!this.#running) void this.#run();
  }

  /** Serves one turn after another until the queue is empty. */
  async #run(): Promise<void> {
    this.#running = true;
    clearTimeout(this.#silence);
    try {
      for (let client = this.#next(); client; client = this.#next()) {
        if (client.gone) await this.#leave(client);
        else if (!client.started) await this.#start(client);
        else await this.#serve(client);
        await this.#maintain();
        this.#announceShutdown();
        // Lets the event loop of this process handle other work.
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#running = false;
    const owner = this.#owner;
    if (owner) {
      const timeoutMs = this.options.silenceTimeoutMs ?? SILENCE_TIMEOUT_MS;
      this.#silence = setTimeout(() => owner.socket.destroy(), timeoutMs);
      if (typeof this.#silence === "object") this.#silence.unref();
    }
  }

  async #maintain(): Promise<void> {
    if (this.#owner || !this.#wasWritten) return;
    if (performance.now() - this.#maintainedAt < MAINTENANCE_MS) return;
    this.#wasWritten = false;
    this.#maintainedAt = performance.now();
    await this.options.maintain?.();
  }

  #next(): Client | undefined {
    if (this.#failed) return undefined;
    const [first] = this.#queue;
    const client = this.#owner ?? first;
    return client && this.#queue.delete(client) ? client : undefined;
  }

  async #start(client: Client): Promise<void> {
    const { incoming } = client;
    const bytes = incoming.bytes();
    if (bytes.length < 8) return;
    const length = bytes.readInt32BE(0);
    const code = bytes.readInt32BE(4);
    if (code === PROTOCOL_3 && length >= 8 && length <= 10_000) {
      if (bytes.length < length) return incoming.keep(bytes, length);
      this.#greeting ??= this.#greet(bytes.subarray(0, length));
      client.socket.write(await this.#greeting);
      client.started = true;
      incoming.keep(bytes.subarray(length), 5);
    } else {
      // Such as a cancel request, which is not supported.
      client.socket.destroy();
    }
    if (incoming.isReady) this.#enqueue(client);
  }

  async #greet(startup: Uint8Array): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await this.session.execProtocolRawStream(startup, {
      onRawData: (bytes) => void chunks.push(Buffer.from(bytes)),
    });
    return Buffer.concat(chunks);
  }

  /** Executes the messages up to the next end of a turn. */
  async #serve(client: Client): Promise<void> {
    const turn = takeTurn(client.incoming, client.statements);
    if (turn === "terminate") return void client.socket.end();
    if (!turn) return;
    this.#owner = client;
    this.#wasWritten ||= turn.writes;
    const refusal = turn.writes && this.options.refuseWrites?.();
    const response = await this.#execute(
      refusal ? diskFullError(refusal, turn.bytes.subarray(turn.end)) : turn.bytes,
      (bytes) => client.socket.write(bytes),
    );
    // PGlite 0.5.14 continues with the next message after a trap of its WebAssembly code.
    if (!response.hasError && response.executionCount < turn.executionCount) {
      throw new Error("the engine stopped in the middle of a statement");
    }
    if (response.status === "I") this.#owner = undefined;
    if (client.incoming.isReady) this.#enqueue(client);
  }

  /** Resets the session after its client has disconnected. */
  async #leave(client: Client): Promise<void> {
    if (this.#owner === client) {
      await this.#execute(message("S", ""), () => {});
      await this.#execute(message("Q", "rollback\0"), () => {});
      this.#owner = undefined;
    }
    if (client.statements.size > 0) {
      const closes = [...client.statements.keys()].map((name) => message("C", `S${name}\0`));
      client.statements.clear();
      await this.#execute(Buffer.concat([...closes, message("S", "")]), () => {});
    }
  }

  async #execute(bytes: Uint8Array, respond: (bytes: Buffer) => void): Promise<ResponseReader> {
    const response = new ResponseReader();
    await this.session.execProtocolRawStream(bytes, {
      onRawData: (chunk) => {
        response.read(chunk);
        // The chunk is a view of memory that the database reuses.
        respond(Buffer.from(chunk));
      },
    });
    return response;
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#owner = undefined;
    this.#queue.clear();
    for (const client of this.#clients) client.socket.destroy();
    this.options.onFailure(error);
  }
}
