/** Messages of PostgreSQL's wire protocol, as far as sharing a session needs them. */
import { Buffer } from "node:buffer";

/** Asks whether TLS is possible; answered at once with "N", so it also shows who listens. */
export const SSL_REQUEST_MESSAGE: Uint8Array = Uint8Array.of(0, 0, 0, 8, 4, 210, 22, 47);

/** Messages that end a turn, because the client then waits: S(ync), Q(uery), F(unction), H(flush). */
const TURN_ENDS = "SQFH";

/** Responses that end the execution of a statement: C(omplete), E(rror), I (empty), s(uspended). */
const EXECUTION_ENDS = "CEIs";

/** Statements that write, `with ... insert` and `select ... for update` included. */
const WRITE =
  /\b((insert|merge)\s+into|delete\s+from|for\s+update|(update|create|alter|drop|truncate)\s+\w+\s)/i;

/** Bytes of a client that have not been taken yet. */
export class IncomingBytes {
  #chunks: Buffer[] = [];
  #length = 0;
  /** Bytes that must have arrived before parsing again. */
  #needed = 8;

  /** Whether parsing may find something. */
  get isReady(): boolean {
    return this.#length >= this.#needed;
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#length += chunk.length;
  }

  bytes(): Buffer {
    if (this.#chunks.length !== 1) this.#chunks = [Buffer.concat(this.#chunks)];
    return this.#chunks[0]!;
  }

  /** Replaces the bytes by those that were not taken. */
  keep(bytes: Buffer, needed: number): void {
    this.#chunks = bytes.length > 0 ? [bytes] : [];
    this.#length = bytes.length;
    this.#needed = needed;
  }
}

/** The messages that a client sends before it waits for the response. */
interface Turn {
  bytes: Buffer;
  /** Offset of the message that ends it. */
  end: number;
  /** How many statements it executes. */
  executionCount: number;
  /** Whether it prepares or executes a statement that writes. */
  writes: boolean;
}

/**
 * Takes the messages up to and including the first end of a turn. Updates `statements`: the
 * client's prepared statements by name, and whether they write.
 */
export function takeTurn(
  incoming: IncomingBytes,
  statements: Map<string, boolean>,
): Turn | "terminate" | undefined {
  const bytes = incoming.bytes();
  const turn = { executionCount: 0, writes: false };
  let start = 0;
  while (start + 5 <= bytes.length) {
    const type = String.fromCharCode(bytes[start]!);
    const end = start + 1 + bytes.readInt32BE(start + 1);
    if (type === "X" || end < start + 5) return "terminate";
    if (end > bytes.length) {
      incoming.keep(bytes, end);
      return undefined;
    }
    if (type === "P" || type === "Q") {
      const [name, text] = type === "P" ? readString(bytes, start + 5) : ["", start + 5];
      const isWrite = WRITE.test(bytes.toString("utf8", text, end));
      turn.writes ||= isWrite;
      if (name) statements.set(name, isWrite);
    } else if (type === "B") {
      const [, statement] = readString(bytes, start + 5);
      turn.writes ||= statements.get(readString(bytes, statement)[0]) ?? false;
    }
    if (type === "E" || type === "Q") turn.executionCount++;
    if (TURN_ENDS.includes(type)) {
      incoming.keep(bytes.subarray(end), 5);
      return { bytes: bytes.subarray(0, end), end: start, ...turn };
    }
    start = end;
  }
  // The beginning of the next message may have arrived already.
  incoming.keep(bytes, start + 5);
  return undefined;
}

/** Reads the messages of a response, which arrives in chunks of any size. */
export class ResponseReader {
  /** `I`dle, `T`ransaction, failed transaction (`E`), or undefined: not ready for a statement. */
  status: string | undefined;
  hasError = false;
  executionCount = 0;
  readonly #header = Buffer.alloc(5);
  #headerLength = 0;
  #type = "";
  /** Bytes of the message that have not arrived. */
  #remaining = 0;

  read(chunk: Uint8Array): void {
    for (let at = 0; at < chunk.length;) {
      if (this.#remaining === 0) {
        this.#header[this.#headerLength++] = chunk[at++]!;
        if (this.#headerLength === 5) this.#begin();
        continue;
      }
      const length = Math.min(this.#remaining, chunk.length - at);
      at += length;
      this.#remaining -= length;
      if (this.#type === "Z") this.status = String.fromCharCode(chunk[at - 1]!);
    }
  }

  #begin(): void {
    this.#headerLength = 0;
    this.#type = String.fromCharCode(this.#header[0]!);
    this.#remaining = this.#header.readInt32BE(1) - 4;
    this.status = undefined;
    if (this.#type === "E") this.hasError = true;
    if (EXECUTION_ENDS.includes(this.#type)) this.executionCount++;
  }
}

/** @returns the string at `start`, and the offset of what follows it */
function readString(bytes: Buffer, start: number): [string, number] {
  const end = bytes.indexOf(0, start);
  return [bytes.toString("utf8", start, end), end + 1];
}

/**
 * Messages that raise an error, with the `end` of the turn that they replace: after an error in the
 * extended protocol the client sends a Sync, which must be answered once.
 */
export function diskFullError(text: string, end: Buffer): Buffer {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  const tag = "$refusal$";
  const statement = `do ${tag} begin raise disk_full using message = ${quoted}; end ${tag}\0`;
  if (String.fromCharCode(end[0]!) === "Q") return message("Q", statement);
  return Buffer.concat([
    message("P", `\0${statement}\0\0`),
    message("B", "\0\0\0\0\0\0\0\0"),
    message("E", "\0\0\0\0\0"),
    end,
  ]);
}

/** A message of a type, with its length. */
export function message(type: string, body: string): Buffer {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(body));
  bytes.write(type, 0, "latin1");
  bytes.writeInt32BE(bytes.length - 1, 1);
  bytes.write(body, 5);
  return bytes;
}
