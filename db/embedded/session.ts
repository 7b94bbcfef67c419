/**
 * Speaks PostgreSQL's wire protocol to any number of clients in front of a database that has only
 * one session, such as the embedded one.
 *
 * A client owns the session from its first message until the database says that it is ready for the
 * next statement outside a transaction. Handing over any earlier would mix clients up: they share
 * the unnamed portal, and "skip everything until Sync" after an error would hit the wrong one.
 */

import { Buffer } from "node:buffer";
import type { Socket } from "node:net";
import { pause } from "../../lib/base/delay.ts";

/** The one session: takes messages of a client, calls back with what the database answers. */
export interface Session {
  execProtocolRawStream(
    message: Uint8Array,
    options: { onRawData: (bytes: Uint8Array) => void },
  ): Promise<void>;
}

/**
 * A client that owns the session and says nothing for this long is cut off, so that a suspended
 * process does not stop all others. Nothing but statements happens inside our transactions.
 */
const SILENCE_TIMEOUT_MS = 60_000;

const PROTOCOL_3 = 196608;
const SSL_REQUEST = 80877103;
const GSS_REQUEST = 80877104;

/** After these the database has answered, or waits for more: S(ync), Q(uery), F(unction), H(flush). */
const ENDS_OF_TURN = new Set(["S", "Q", "F", "H"].map((letter) => letter.charCodeAt(0)));
const PARSE = "P".charCodeAt(0);
const QUERY = "Q".charCodeAt(0);
const TERMINATE = "X".charCodeAt(0);

/** Reading from a client in mid-statement would end the embedded database. */
const COPY_FROM_CLIENT = /^\s*copy\b[^;]*\bfrom\s+stdin\b/i;
const REFUSE_COPY = "do $$ begin raise feature_not_supported using message = " +
  "'COPY from the client is not possible on the embedded database'; end $$\0";

interface Client {
  socket: Socket;
  chunks: Buffer[];
  byteCount: number;
  /** Bytes that must have arrived before looking again. */
  needed: number;
  started: boolean;
  /** Named statements, which outlive the client unless they are closed. */
  statements: Set<string>;
  gone: boolean;
  queued: boolean;
}

/** The server in front of one session. */
export class SessionServer {
  readonly #session: Session;
  readonly #silenceTimeoutMs: number;
  readonly #onFailure: (error: unknown) => void;
  readonly #clients = new Set<Client>();
  #queue: Client[] = [];
  #owner: Client | undefined;
  #greeting: Promise<Buffer> | undefined;
  #running = false;
  #draining = false;
  #failed = false;
  #idle: (() => void)[] = [];
  #silence: ReturnType<typeof setTimeout> | undefined;

  /**
   * @param options.onFailure called once when the session itself breaks; all clients are cut off
   * @param options.silenceTimeoutMs how long a client may own the session without a word
   */
  constructor(
    session: Session,
    options: { onFailure: (error: unknown) => void; silenceTimeoutMs?: number },
  ) {
    this.#session = session;
    this.#onFailure = options.onFailure;
    this.#silenceTimeoutMs = options.silenceTimeoutMs ?? SILENCE_TIMEOUT_MS;
  }

  /** Serves a client until one of both ends the connection. */
  accept(socket: Socket): void {
    if (this.#draining || this.#failed) return void socket.destroy();
    const client: Client = {
      socket,
      chunks: [],
      byteCount: 0,
      needed: 8,
      started: false,
      statements: new Set(),
      gone: false,
      queued: false,
    };
    this.#clients.add(client);
    socket.on("data", (chunk: Buffer) => {
      client.chunks.push(chunk);
      client.byteCount += chunk.length;
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
   * Ends the connections of clients that have nothing under way, waits for the others to finish
   * their transaction, at most `timeoutMs`, and then ends theirs.
   */
  async drain(timeoutMs: number): Promise<void> {
    this.#draining = true;
    // What already waits in the kernel is still served.
    await pause(5);
    this.#endIdle();
    if (this.#clients.size > 0 || this.#running) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      await Promise.race([
        new Promise<void>((resolve) => this.#idle.push(resolve)),
        new Promise<void>((resolve) => timer = setTimeout(resolve, timeoutMs)),
      ]);
      clearTimeout(timer);
    }
    for (const client of this.#clients) client.socket.destroy();
    while (this.#running || this.#clients.size > 0) {
      await pause(1);
    }
    clearTimeout(this.#silence);
  }

  #enqueue(client: Client): void {
    if (!client.queued) {
      client.queued = true;
      this.#queue.push(client);
    }
    if (!this.#running) void this.#run();
  }

  /** Serves one turn after the other until nobody has one. */
  async #run(): Promise<void> {
    this.#running = true;
    clearTimeout(this.#silence);
    try {
      for (let client = this.#next(); client; client = this.#next()) {
        if (client.gone) await this.#leave(client);
        else if (!client.started) await this.#start(client);
        else await this.#serve(client);
        // Requests of the process that we live in get their turn as well.
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

  /** Answers requests for encryption with no, and the start with the greeting. */
  async #start(client: Client): Promise<void> {
    const bytes = joined(client);
    if (bytes.length < 8) return;
    const length = bytes.readInt32BE(0);
    const code = bytes.readInt32BE(4);
    if (code === SSL_REQUEST || code === GSS_REQUEST) {
      client.socket.write("N");
      keep(client, bytes.subarray(8), 8);
    } else if (code === PROTOCOL_3 && length >= 8 && length <= 10_000) {
      if (bytes.length < length) return keep(client, bytes, length);
      this.#greeting ??= this.#greet(bytes.subarray(0, length));
      client.socket.write(await this.#greeting);
      client.started = true;
      keep(client, bytes.subarray(length), 5);
    } else {
      // A request to cancel: there is no second process that could do it.
      client.socket.destroy();
    }
    if (client.byteCount >= client.needed) this.#enqueue(client);
  }

  async #greet(startup: Uint8Array): Promise<Buffer> {
    const chunks: Buffer[] = [];
    await this.#session.execProtocolRawStream(Uint8Array.from(startup), {
      onRawData: (bytes) => void chunks.push(Buffer.from(bytes)),
    });
    return Buffer.concat(chunks);
  }

  /** Lets the session execute everything up to the next point where the client waits. */
  async #serve(client: Client): Promise<void> {
    const turn = takeTurn(client);
    if (turn === "terminate") return void client.socket.end();
    if (!turn) return;
    this.#owner = client;
    const bytes = turn.copies ? message("Q", REFUSE_COPY) : turn.bytes;
    const status = await this.#execute(bytes, (answer) => client.socket.write(answer));
    if (status === "I") this.#owner = undefined;
    if (client.byteCount >= client.needed) this.#enqueue(client);
  }

  /** Gives the session back in the state a new client expects. */
  async #leave(client: Client): Promise<void> {
    if (this.#owner === client) {
      await this.#execute(message("S", ""), () => {});
      await this.#execute(message("Q", "rollback\0"), () => {});
      this.#owner = undefined;
    }
    if (client.statements.size > 0) {
      const closes = [...client.statements].map((name) => message("C", `S${name}\0`));
      client.statements.clear();
      await this.#execute(Buffer.concat([...closes, message("S", "")]), () => {});
    }
  }

  /** @returns the state of the session: `I`dle, in a `T`ransaction, a failed one `E`, or not ready */
  async #execute(
    bytes: Uint8Array,
    answer: (bytes: Buffer) => void,
  ): Promise<string | undefined> {
    let tail = Buffer.alloc(0);
    await this.#session.execProtocolRawStream(bytes, {
      onRawData: (chunk) => {
        // The chunk is a view of memory that the database goes on using.
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
    if (!this.#draining || this.#running) return;
    for (const client of this.#clients) {
      if (client !== this.#owner && client.byteCount === 0) client.socket.destroy();
    }
    if (!this.#owner && this.#queue.length === 0) this.#idle.splice(0).forEach((done) => done());
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
  bytes: Uint8Array;
  copies: boolean;
}

/** Cuts off what the client sent up to and including the first end of a turn. */
function takeTurn(client: Client): Turn | "terminate" | undefined {
  const bytes = joined(client);
  let copies = false;
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
      const text = type === PARSE ? parsed(client, bytes, start + 5) : start + 5;
      copies ||= COPY_FROM_CLIENT.test(bytes.toString("utf8", text, Math.min(end, text + 1000)));
    }
    if (ENDS_OF_TURN.has(type)) {
      keep(client, bytes.subarray(end), 5);
      // Messages begin at the start of their memory: the database reads the whole of it.
      return { bytes: Uint8Array.from(bytes.subarray(0, end)), copies };
    }
    start = end;
  }
  keep(client, bytes, bytes.length + 5);
  return undefined;
}

/** Remembers the name of a statement. @returns where its text begins */
function parsed(client: Client, bytes: Buffer, start: number): number {
  const end = bytes.indexOf(0, start);
  if (end > start) client.statements.add(bytes.toString("utf8", start, end));
  return end + 1;
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
