/**
 * Reads and writes tar: ustar, with pax records and GNU long names.
 *
 * An archive may have 100,000 small files. 90,000 of them are read in 0.7 s of CPU time; with the web
 * streams of `modern-tar`, which had a stream for each file, it was 3.2 s and twice the memory.
 */

const BLOCK_BYTES = 512;
/** Pax records and long names: a path has at most 4,096 characters. */
const MAX_METADATA_BYTES = 1024 * 1024;
/** Small files are written together. */
const WRITTEN_BYTES = 64 * 1024;

interface TarEntry {
  /** As the archive has it. */
  name: string;
  type: "file" | "directory" | "other";
  size: number;
  /** To be read before the next entry is requested; what is left then is skipped. */
  bytes: AsyncIterable<Uint8Array>;
}

export interface TarFile {
  name: string;
  size: number;
  /** Seconds since 1970. */
  modifiedAt: number;
  bytes: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
}

/** What pax records and long names say about the next entry. */
interface Overrides {
  name?: string;
  size?: number;
}

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * The entries of a tar, in its order. @throws {Error} when it is damaged or cut off; an error of the
 * source as it is
 */
export async function* readTar(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<TarEntry, void> {
  const input = new Input(chunks);
  try {
    const globals: Overrides = {};
    let overrides: Overrides = {};
    for (;;) {
      const block = await input.take(BLOCK_BYTES);
      if (isZero(block)) return await readEnd(input);
      if (readNumber(block, 148, 8) !== sumOf(block)) {
        throw new Error("invalid checksum of a header");
      }
      const type = String.fromCharCode(block[156]!);
      const size = readNumber(block, 124, 12);
      if ("xgLK".includes(type)) {
        if (size > MAX_METADATA_BYTES) throw new Error(`${size} bytes of metadata of an entry`);
        const data = await input.take(size);
        await input.skip(paddingOf(size));
        if (type === "x" || type === "g") {
          Object.assign(type === "g" ? globals : overrides, readPax(data));
        } else if (type === "L") overrides.name = readText(data, 0, data.length);
        continue;
      }
      const { name, ...found } = { name: nameOf(block), size, ...globals, ...overrides };
      overrides = {};
      const isFile = !"123456".includes(type);
      const isFolder = type === "5" || isFile && name.endsWith("/");
      // Links and devices have no data, whatever size they state.
      const rest = { bytes: isFile ? found.size : 0 };
      const padding = paddingOf(rest.bytes);
      yield {
        name,
        type: isFolder ? "directory" : isFile ? "file" : "other",
        size: rest.bytes,
        bytes: bytesOf(input, rest),
      };
      await input.skip(rest.bytes + padding);
      rest.bytes = 0;
    }
  } finally {
    await input.close();
  }
}

async function* bytesOf(
  input: Input,
  rest: { bytes: number },
): AsyncGenerator<Uint8Array, void> {
  while (rest.bytes > 0) {
    const chunk = await input.some(rest.bytes);
    rest.bytes -= chunk.length;
    yield chunk;
  }
}

/** Two blocks of zeros end a tar, and only zeros may follow. */
async function readEnd(input: Input): Promise<void> {
  if (!isZero(await input.take(BLOCK_BYTES))) throw new Error("one block of zeros between entries");
  for await (const chunk of input.all()) {
    if (!isZero(chunk)) throw new Error("data after its end");
  }
}

/** Bytes that come in chunks. */
class Input {
  readonly #chunks: AsyncIterator<Uint8Array>;
  #chunk: Uint8Array = new Uint8Array();

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]();
  }

  /** At least one byte and at most `most`. @throws at the end */
  async some(most: number): Promise<Uint8Array> {
    while (this.#chunk.length === 0) {
      const { value, done } = await this.#chunks.next();
      if (done) throw new Error("unexpected end");
      // Slicing a Buffer of Node.js takes several times as long.
      this.#chunk = new Uint8Array(value.buffer, value.byteOffset, value.length);
    }
    const bytes = this.#chunk.subarray(0, most);
    this.#chunk = this.#chunk.subarray(bytes.length);
    return bytes;
  }

  /** This many bytes. @throws at the end */
  async take(count: number): Promise<Uint8Array> {
    if (this.#chunk.length >= count) {
      const bytes = this.#chunk.subarray(0, count);
      this.#chunk = this.#chunk.subarray(count);
      return bytes;
    }
    const bytes = new Uint8Array(count);
    for (let filled = 0; filled < count;) {
      const part = await this.some(count - filled);
      bytes.set(part, filled);
      filled += part.length;
    }
    return bytes;
  }

  async skip(count: number): Promise<void> {
    while (count > 0) count -= (await this.some(count)).length;
  }

  /** All that is left. */
  async *all(): AsyncGenerator<Uint8Array, void> {
    yield this.#chunk;
    yield* { [Symbol.asyncIterator]: () => this.#chunks };
  }

  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

function isZero(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; at++) if (bytes[at] !== 0) return false;
  return true;
}

/** Zeros fill the last block of a file. */
function paddingOf(size: number): number {
  return -size & (BLOCK_BYTES - 1);
}

/** The sum of a header's bytes, in which the bytes of the sum itself count as spaces. */
function sumOf(block: Uint8Array): number {
  let sum = 8 * 32;
  for (let at = 0; at < 148; at++) sum += block[at]!;
  for (let at = 156; at < BLOCK_BYTES; at++) sum += block[at]!;
  return sum;
}

/** Octal digits, or big-endian bytes after a set first bit. */
function readNumber(block: Uint8Array, start: number, length: number): number {
  const field = block.subarray(start, start + length);
  if (field[0]! & 0x80) {
    const value = field.reduce((sum, byte, at) => sum * 256 + (at === 0 ? byte & 0x7f : byte), 0);
    if (!Number.isSafeInteger(value)) throw new Error("a number that is too large");
    return value;
  }
  const text = readText(block, start, length).trim();
  if (!/^[0-7]*$/.test(text)) throw new Error("a number that is not octal");
  return text === "" ? 0 : parseInt(text, 8);
}

function readText(bytes: Uint8Array, start: number, length: number): string {
  const field = bytes.subarray(start, start + length);
  const end = field.indexOf(0);
  return decoder.decode(end < 0 ? field : field.subarray(0, end));
}

function nameOf(block: Uint8Array): string {
  const name = readText(block, 0, 100);
  // GNU tar has other fields in the place of the prefix.
  const prefix = readText(block, 257, 6) === "ustar" ? readText(block, 345, 155) : "";
  return prefix === "" ? name : `${prefix}/${name}`;
}

/** Records such as `30 path=a/very/long/name.xml\n`; the number is the length of the record. */
function readPax(data: Uint8Array): Overrides {
  const found: Overrides = {};
  for (let start = 0; start < data.length;) {
    const space = data.indexOf(0x20, start);
    const digits = space < 0 ? "" : decoder.decode(data.subarray(start, space));
    const length = /^[1-9]\d{0,8}$/.test(digits) ? Number(digits) : Infinity;
    const record = data.subarray(space + 1, start + length - 1);
    const equals = record.indexOf(0x3d);
    if (start + length > data.length || equals < 0) throw new Error("an invalid pax record");
    const key = decoder.decode(record.subarray(0, equals));
    const value = decoder.decode(record.subarray(equals + 1));
    if (key === "path" && value !== "") found.name = value;
    if (key === "size" && value !== "") {
      found.size = Number(value);
      if (!Number.isSafeInteger(found.size) || found.size < 0) throw new Error("an invalid size");
    }
    start += length;
  }
  return found;
}

/** The bytes of a tar. @throws {RangeError} when a file has another size than it states */
export async function* writeTar(
  files: Iterable<TarFile> | AsyncIterable<TarFile>,
): AsyncGenerator<Uint8Array<ArrayBuffer>, void> {
  let buffer = new Uint8Array(WRITTEN_BYTES);
  let used = 0;
  /** Copies bytes, and returns the buffers that are full. */
  function* write(bytes: Uint8Array) {
    for (let at = 0; at < bytes.length;) {
      const part = bytes.subarray(at, at + WRITTEN_BYTES - used);
      buffer.set(part, used);
      at += part.length;
      used += part.length;
      if (used < WRITTEN_BYTES) continue;
      yield buffer;
      buffer = new Uint8Array(WRITTEN_BYTES);
      used = 0;
    }
  }
  const zeros = new Uint8Array(2 * BLOCK_BYTES);
  for await (const file of files) {
    for (const block of headersOf(file)) yield* write(block);
    let size = 0;
    for await (const bytes of file.bytes) {
      size += bytes.length;
      yield* write(bytes);
    }
    if (size !== file.size) {
      throw new RangeError(`${file.name}: found ${size} bytes, expected ${file.size}`);
    }
    yield* write(zeros.subarray(0, paddingOf(size)));
  }
  yield* write(zeros);
  yield buffer.subarray(0, used);
}

/** The header of a file, after a pax header for what does not fit into it. */
function* headersOf(
  { name, size, modifiedAt }: Omit<TarFile, "bytes">,
): Generator<Uint8Array, void> {
  const bytes = encoder.encode(name);
  const { name: shortName, prefix } = splitName(bytes) ?? { name: bytes.subarray(0, 100) };
  const records: string[] = [];
  if (!prefix && bytes.length > 100) records.push(paxRecord("path", name));
  if (size >= 8 ** 11) records.push(paxRecord("size", String(size)));
  if (records.length > 0) {
    const data = encoder.encode(records.join(""));
    const paxName = encoder.encode("PaxHeader");
    yield headerOf({ name: paxName, size: data.length, modifiedAt, type: "x" });
    yield data;
    yield new Uint8Array(paddingOf(data.length));
  }
  yield headerOf({ name: shortName, prefix, size: size % 8 ** 11, modifiedAt, type: "0" });
}

/** A path that is too long for the name fits if its folder fits into the prefix. */
function splitName(bytes: Uint8Array): { name: Uint8Array; prefix?: Uint8Array } | null {
  if (bytes.length <= 100) return { name: bytes };
  const slash = bytes.indexOf(0x2f, bytes.length - 101);
  if (slash <= 0 || slash > 155 || slash === bytes.length - 1) return null;
  return { name: bytes.subarray(slash + 1), prefix: bytes.subarray(0, slash) };
}

function headerOf(
  { name, prefix, size, modifiedAt, type }: {
    name: Uint8Array;
    prefix?: Uint8Array | undefined;
    size: number;
    modifiedAt: number;
    type: "0" | "x";
  },
): Uint8Array {
  const block = new Uint8Array(BLOCK_BYTES);
  const write = (start: number, text: string) =>
    void encoder.encodeInto(text, block.subarray(start));
  const octal = (value: number, length: number) =>
    `${value.toString(8).padStart(length - 1, "0")}\0`;
  block.set(name, 0);
  write(100, octal(0o644, 8));
  write(108, octal(0, 8));
  write(116, octal(0, 8));
  write(124, octal(size, 12));
  write(136, octal(modifiedAt, 12));
  write(156, type);
  write(257, "ustar\x0000");
  if (prefix) block.set(prefix, 345);
  write(148, `${sumOf(block).toString(8).padStart(6, "0")}\0 `);
  return block;
}

/** A record states its own length. */
function paxRecord(key: string, value: string): string {
  const rest = encoder.encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  length = rest + String(length).length;
  return `${length} ${key}=${value}\n`;
}
