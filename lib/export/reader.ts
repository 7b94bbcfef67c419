// Tests: tests/lib/cli/commands/import_test.ts
import { createHash } from "node:crypto";
import { errorMessage } from "../base/error.ts";
import { Failure } from "../base/failure.ts";
import {
  type ExportRecord,
  FORMAT_VERSION,
  parseRecord,
  type RecordType,
  UnknownRecordError,
} from "./records.ts";

/** A line of an export cannot be imported. The message names the line. */
export class ExportError extends Failure {
  override name = "ExportError";

  constructor(line: number, problem: string) {
    super(`line ${line}: ${problem}`);
  }
}

type Header = ExportRecord<"export">;

/** A record and the number of its line, counted from 1. */
export interface Line<Type extends RecordType = Exclude<RecordType, "end">> {
  line: number;
  record: ExportRecord<Type>;
}

/** Four names of 64 Ki characters, escaped, with room to spare. */
const MAX_LINE_BYTES = 4 << 20;

/**
 * Reads an export in batches that follow its chunks, the header first. The last line is checked, and
 * not among them.
 *
 * @param build version and commit of this program, for messages
 * @throws {ExportError} for the first line that is not what it should be, or is missing
 */
export async function* readExport(
  chunks: AsyncIterable<Uint8Array>,
  build: string,
): AsyncGenerator<Line[]> {
  const hash = createHash("sha256");
  let header: Header | undefined;
  let end: number | undefined;
  let line = 0;
  for await (const lines of splitLines(chunks)) {
    const batch: Line[] = [];
    for (const bytes of lines) {
      line++;
      if (end !== undefined) {
        throw new ExportError(line, `found a line after the end on line ${end}, expected none`);
      }
      const record = readRecord(bytes, { line, header, build });
      if (record.type === "export") header = checkHeader(record, { line, build });
      else if (header === undefined) {
        throw new ExportError(line, `found "${record.type}", expected the header "export" first`);
      }
      if (record.type === "end") {
        checkEnd(record, line, hash.digest("hex"));
        end = line;
      } else {
        hash.update(bytes);
        batch.push({ line, record });
      }
    }
    if (batch.length > 0) yield batch;
  }
  if (end === undefined) {
    throw new ExportError(
      line + 1,
      'missing: the file is cut off before its last line, of the type "end"; export it again',
    );
  }
}

function checkHeader(header: Header, { line, build }: { line: number; build: string }): Header {
  if (line > 1) {
    throw new ExportError(line, "found a second header, expected one export at a time");
  }
  if (header.format <= FORMAT_VERSION) return header;
  throw new ExportError(
    line,
    `format ${header.format} was written by ${header.program}, expected at most ` +
      `${FORMAT_VERSION}, which this is (${build}): import it with that version or a later one`,
  );
}

function checkEnd({ records, sha256 }: ExportRecord<"end">, line: number, digest: string): void {
  if (records !== line - 1) {
    throw new ExportError(
      line,
      `it counts ${records} lines before it, found ${line - 1}: some are missing or added`,
    );
  }
  if (sha256 !== null && sha256 !== digest) {
    throw new ExportError(
      line,
      "the lines before it are not those that were exported: their SHA-256 is " +
        `${digest}, expected ${sha256}; if you changed them, remove sha256 here`,
    );
  }
}

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readRecord(
  bytes: Uint8Array,
  { line, header, build }: { line: number; header: Header | undefined; build: string },
): ExportRecord {
  try {
    return parseRecord(decoder.decode(bytes).trimEnd());
  } catch (error) {
    if (error instanceof UnknownRecordError && header) {
      throw new ExportError(
        line,
        `${error.message}; it was written by ${header.program}, and this is ${build}: import it ` +
          "with that version or a later one",
      );
    }
    throw new ExportError(
      line,
      error instanceof TypeError ? "found bytes that are not UTF-8" : errorMessage(error),
    );
  }
}

const LINE_END = 0x0a;

/** The lines of a file, with their ends. */
async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array[]> {
  /** Parts of a line that began in an earlier chunk. */
  let parts: Uint8Array[] = [];
  let partBytes = 0;
  let line = 1;
  for await (const chunk of chunks) {
    const lines: Uint8Array[] = [];
    let start = 0;
    for (
      let end = chunk.indexOf(LINE_END);
      end !== -1;
      end = chunk.indexOf(LINE_END, start)
    ) {
      const own = chunk.subarray(start, end + 1);
      lines.push(parts.length === 0 ? own : joined([...parts, own]));
      parts = [];
      partBytes = 0;
      start = end + 1;
    }
    line += lines.length;
    if (start < chunk.length) {
      // Copied: the chunk may be used again by its source.
      parts.push(chunk.slice(start));
      partBytes += chunk.length - start;
      if (partBytes > MAX_LINE_BYTES) {
        throw new ExportError(line, `more than ${MAX_LINE_BYTES} bytes, expected a shorter line`);
      }
    }
    if (lines.length > 0) yield lines;
  }
  if (parts.length > 0) yield [joined(parts)];
}

function joined(parts: Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let position = 0;
  for (const part of parts) {
    bytes.set(part, position);
    position += part.length;
  }
  return bytes;
}
