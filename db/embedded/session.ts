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

/**
 * Parameter that an owner which is shutting down reports to its clients. They connect to the next
 * owner for later statements, and finish what they have begun.
 */
export const SHUTTING_DOWN = "test_analytics.shutting_down";

/** How long clients have to leave by themselves before idle ones are disconnected. */
const LEAVE_TIMEOUT_MS = 5_000;

/** Asks whether TLS is possible; answered at once with "N", so it also shows who listens. */
export const SSL_REQUEST_MESSAGE: Uint8Array = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);

const PROTOCOL_3 = 196608;
const GSS_REQUEST = 80877104;

/** Messages that end a turn, because the client then waits: S(ync), Q(uery), F(unction), H(flush). */
const TURN_ENDS = new Set(["S", "Q", "F", "H"].map((letter) => letter.charCodeAt(0)));
const PARSE = "P".charCodeAt(0);
const BIND = "B".charCodeAt(0);
const QUERY = "Q".charCodeAt(0);
const TERMINATE = "X".charCodeAt(0);

/** COPY from a client would crash the embedded database. */
const COPY_FROM_CLIENT = /^\s*copy\b[^;]*\bfrom\s+stdin\b/i;

/** Statements that write, `with ... insert` and `select ... for update` included. */
const WRITE =
  /\b((insert|merge)\s+into|delete\s+from|for\s+update|(update|create|alter|drop|truncate)\s+\w+\s)/i;

interface Client {
  socket: Socket;
  chunks: Buffer[];
  byteCount: number;
  /** Bytes that must have arrived before parsing again. */
  needed: number;
  started: boolean;
  /** Named statements, which stay in the session unless they are closed, and whether they write. */
  statements: Map<string, boolean>;
  gone: boolean;
  queued: boolean;
  knowsOfShutdown: boolean;
}

/** Serves any number of clients through one session. */
export class SessionServer {
  readonly #session: Session;
  readonly #silenceTimeoutMs: number;
  readonly #onFailure: (error: unknown) => void;
  readonly #refuseWrites: () => string | null;
  readonly #clients = new Set<Client>();
  #queue: Client[] = [];
  #owner: Client | undefined;
  #greeting: Promise<Buffer> | undefined;
  #running = false;
  #draining = false;
  #leaving = false;
  #failed = false;
  #silence: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param options.onFailure called once when the session breaks; all clients are disconnected
   * @param options.silenceTimeoutMs how long a client may own the session in silence
   * @param options.refuseWrites called before each statement that writes; returns why it is refused
   */
  constructor(
    session: Session,
    options: {
      onFailure: (error: unknown) => void;
      silenceTimeoutMs?: number;
      refuseWrites?: () => string | null;
    },
  ) {
    this.#session = session;
    this.#onFailure = options.onFailure;
    this.#silenceTimeoutMs = options.silenceTimeoutMs ?? SILENCE_TIMEOUT_MS;
    this.#refuseWrites = options.refuseWrites ?? (() => null);
  }

  /** Serves a client until its connection is closed. */
  accept(socket: Socket): void {
    if (this.#draining || this.#failed) return void socket.destroy();
    const client: Client = {
      socket,
      chunks: [],
      byteCount: 0,
      needed: 8,
      started: false,
      statements: new Map(),
      gone: false,
      queued: false,
      knowsOfShutdown: false,
    };
    this.#clients.add(client);
    socket.on("data", (chunk: Buffer) => {
      client.chunks.push(chunk);
      client.byteCount += chunk.length;
      // Not queued: a client that is being accepted does not wait for the others.
      if (!client.started && joined(client).equals(SSL_REQUEST_MESSAGE)) {
        keep(client, Buffer.alloc(0), 8);
        return void socket.write("N");
      }
      if (client.byteCount >= client.needed) this.#enqueue(client);
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      client.gone = true;
      this.#clients.delete(client);
      this.#enqueue(client);
    });
  }

  /**
   * Asks the clients to leave, disconnects idle ones that do not, lets the others finish their
   * transactions for at most `timeoutMs`, and then disconnects them too.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    if (!this.#running) this.#announceShutdown();
    await this.#untilIdle(Math.min(timeoutMs, LEAVE_TIMEOUT_MS));
    this.#leaving = true;
    this.#endIdle();
    await this.#untilIdle(timeoutMs);
    for (const client of this.#clients) client.socket.destroy();
    while (this.#running || this.#clients.size > 0) {
      await pause(1);
    }
    clearTimeout(this.#silence);
  }

  /** Waits until nothing runs and all clients have left, or the timeout. */
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
    if (!client.queued) {
      client.queued = true;
      this.#queue.push(client);
    }
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
        this.#announceShutdown();
        // Lets the event loop of this process handle other work.
        await new Promise((resolve) => setImmediate(resolve));
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#running = false;
    this.#endIdle();
    const owner = this.#owner;
    if (owner) {
      this.#silence = setTimeout(() => owner.socket.destroy(), this.#silenceTimeoutMs);
      if (typeof this.#silence === "object") this.#silence.unref();
    }
  }

  #next(): Client | undefined {
    if (this.#failed) return undefined;
    const index = this.#owner ? this.#queue.indexOf(this.#owner) : 0;
    const client = this.#queue[index];
    if (!client) return undefined;
    this.#queue.splice(index, 1);
    client.queued = false;
    return client;
  }

  /** Declines encryption, and answers the startup message with the greeting. */
  async #start(client: Client): Promise<void> {
    const bytes = joined(client);
    if (bytes.length < 8) return;
    const length = bytes.readInt32BE(0);
    const code = bytes.readInt32BE(4);
    if (code === GSS_REQUEST) {
      client.socket.write("N");
      keep(client, bytes.subarray(8), 8);
    } else if (code === PROTOCOL_3 && length >= 8 && length <= 10_000) {
      if (bytes.length < length) return keep(client, bytes, length);
      this.#greeting ??= this.#greet(bytes.subarray(0, length));
      client.socket.write(await this.#greeting);
      client.started = true;
      keep(client, bytes.subarray(length), 5);
    } else {
      // Cancel requests are not supported.
      client.socket.destroy();
    }
    if (client.byteCount >= client.needed) this.#enqueue(client);
  }

  async #greet(startup: Uint8Array): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await this.#session.execProtocolRawStream(startup, {
      onRawData: (bytes) => void chunks.push(Buffer.from(bytes)),
    });
    return Buffer.concat(chunks);
  }

  /** Executes the messages up to the next end of a turn. */
  async #serve(client: Client): Promise<void> {
    const turn = takeTurn(client);
    if (turn === "terminate") return void client.socket.end();
    if (!turn) return;
    this.#owner = client;
    const bytes = this.#refuse(turn) ?? turn.bytes;
    const status = await this.#execute(bytes, (answer) => client.socket.write(answer));
    if (status === "I") this.#owner = undefined;
    if (client.byteCount >= client.needed) this.#enqueue(client);
  }

  /** @returns messages that fail, to be executed instead of a turn that is refused */
  #refuse({ bytes, end, copies, writes }: Turn): Buffer | undefined {
    if (copies) {
      return failing("feature_not_supported", {
        text: "the embedded database does not support COPY from the client",
        end: bytes.subarray(end),
      });
    }
    const text = writes ? this.#refuseWrites() : null;
    return text === null ? undefined : failing("disk_full", { text, end: bytes.subarray(end) });
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

  /** @returns the status: `I`dle, `T`ransaction, failed transaction (`E`), or undefined: not ready */
  async #execute(
    bytes: Uint8Array,
    answer: (bytes: Buffer) => void,
  ): Promise<string | undefined> {
    let tail = Buffer.alloc(0);
    await this.#session.execProtocolRawStream(bytes, {
      onRawData: (chunk) => {
        // The chunk is a view of memory that the database reuses.
        const copy = Buffer.from(chunk);
        tail = Buffer.concat([tail, copy.subarray(-6)]).subarray(-6);
        answer(copy);
      },
    });
    return tail.length === 6 && tail[0] === 0x5a && tail.readInt32BE(1) === 5
      ? String.fromCharCode(tail[5]!)
      : undefined;
  }

  #endIdle(): void {
    if (!this.#leaving || this.#running) return;
    for (const client of this.#clients) {
      if (client !== this.#owner && client.byteCount === 0) client.socket.destroy();
    }
  }

  #fail(error: unknown): void {
    if (this.#failed) return;
    this.#failed = true;
    this.#owner = undefined;
    this.#queue = [];
    for (const client of this.#clients) client.socket.destroy();
    this.#onFailure(error);
  }
}

interface Turn {
  bytes: Buffer;
  /** Offset of the message that ends it. */
  end: number;
  /** Whether it contains a COPY from the client. */
  copies: boolean;
  /** Whether it prepares or executes a statement that writes. */
  writes: boolean;
}

/** Takes the messages of the client up to and including the first end of a turn. */
function takeTurn(client: Client): Turn | "terminate" | undefined {
  const bytes = joined(client);
  let copies = false;
  let writes = false;
  for (let start = 0; start + 5 <= bytes.length;) {
    const type = bytes[start]!;
    const end = start + 1 + bytes.readInt32BE(start + 1);
    if (type === TERMINATE) return "terminate";
    if (end < start + 5) return "terminate";
    if (end > bytes.length) {
      keep(client, bytes, end);
      return undefined;
    }
    if (type === PARSE || type === QUERY) {
      const [name, text] = type === PARSE ? readString(bytes, start + 5) : ["", start + 5];
      copies ||= COPY_FROM_CLIENT.test(bytes.toString("utf8", text, Math.min(end, text + 1000)));
      const isWrite = WRITE.test(bytes.toString("utf8", text, end));
      writes ||= isWrite;
      if (name) client.statements.set(name, isWrite);
    } else if (type === BIND) {
      const [, statement] = readString(bytes, start + 5);
      const name = bytes.toString("utf8", statement, bytes.indexOf(0, statement));
      writes ||= client.statements.get(name) ?? false;
    }
    if (TURN_ENDS.has(type)) {
      keep(client, bytes.subarray(end), 5);
      return { bytes: bytes.subarray(0, end), end: start, copies, writes };
    }
    start = end;
  }
  keep(client, bytes, bytes.length + 5);
  return undefined;
}

/** @returns the string at `start`, and the offset of what follows it */
function readString(bytes: Buffer, start: number): [string, number] {
  const end = bytes.indexOf(0, start);
  return [bytes.toString("utf8", start, end), end + 1];
}

/**
 * Messages that raise an error, with the end of the turn that they replace: after an error in the
 * extended protocol the client sends a Sync, which must be answered once.
 */
function failing(condition: string, { text, end }: { text: string; end: Buffer }): Buffer {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  const tag = "$refusal$";
  const statement = `do ${tag} begin raise ${condition} using message = ${quoted}; end ${tag}\0`;
  if (end[0] === QUERY) return message("Q", statement);
  return Buffer.concat([
    message("P", `\0${statement}\0\0`),
    message("B", "\0\0\0\0\0\0\0\0"),
    message("E", "\0\0\0\0\0"),
    end,
  ]);
}

function joined(client: Client): Buffer {
  if (client.chunks.length !== 1) client.chunks = [Buffer.concat(client.chunks)];
  return client.chunks[0]!;
}

function keep(client: Client, bytes: Buffer, needed: number): void {
  client.chunks = bytes.length > 0 ? [bytes] : [];
  client.byteCount = bytes.length;
  client.needed = needed;
}

function message(type: string, body: string): Buffer {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(body));
  bytes.write(type, 0, "latin1");
  bytes.writeInt32BE(bytes.length - 1, 1);
  bytes.write(body, 5);
  return bytes;
}
