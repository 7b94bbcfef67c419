// Tests: tests/lib/intake/pack_upload_test.ts
import { Buffer } from "node:buffer";
import { closeSync, createReadStream, openSync, writeSync } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Busboy } from "@fastify/busboy";
import { quote } from "../base/quote.ts";
import { FILE_CHUNK_BYTES } from "../report/file_chunks.ts";
import { UploadError } from "./upload_error.ts";
import { UPLOAD_PARAMETERS } from "./upload_parameters.ts";

/** The parts of a form that are files. */
const PARTS = ["report", "coverage", "codeowners"] as const;

/** The part with the variables of the CI job, a field or a file. */
const CI_PART = "ci";

// Bound the memory for names. Larger uploads can be sent as an archive.
const MAX_FILES = 10_000;
const MAX_HEADER_BYTES = 4_096;
const MAX_TEXT_BYTES = { [CI_PART]: 256 * 1024, field: 16 * 1024 };

/** A file of a form, as a range of the file that all of them were written to. */
export interface FormFile {
  part: typeof PARTS[number];
  /** File name from the client; `""` without one. */
  name: string;
  start: number;
  size: number;
}

/** What a form contains. */
interface Form {
  files: FormFile[];
  /** Parameters of the upload. */
  fields: URLSearchParams;
  /** Lines of variables of the CI job. */
  ci: string;
}

/**
 * Reads a form, and writes the contents of its files to one file: a file for each part took 20,000
 * handles for 20 forms of 1,000 parts.
 *
 * @throws {UploadError} when it is malformed, or has parts that are unknown or too many
 */
export async function readForm(
  path: string,
  { contentType, target }: { contentType: string; target: string },
): Promise<Form> {
  const files: FormFile[] = [];
  const texts: FormText[] = [];
  const failure = new AbortController();
  let problem: { status: 400 | 413; text: string } | undefined;
  const output = openSync(target, "w");
  const write = createFileWriter(output);

  const readText = (name: string, bytes: Readable) => {
    const text: FormText = { name, chunks: [], size: 0 };
    texts.push(text);
    const maxBytes = name === CI_PART ? MAX_TEXT_BYTES.ci : MAX_TEXT_BYTES.field;
    bytes.on("data", (chunk: Uint8Array) => {
      text.size += chunk.length;
      if (text.size <= maxBytes) text.chunks.push(chunk);
      else {problem ??= {
          status: 413,
          text: `part ${quote(name)}: expected at most ${maxBytes} bytes`,
        };}
    });
  };
  const onFile = (part: string | undefined, bytes: Readable, name?: string) => {
    // The stream of a part that is cut off; the parser fails as well.
    bytes.on("error", (error) => failure.abort(error));
    if (part === CI_PART || part !== undefined && UPLOAD_PARAMETERS.includes(part)) {
      return readText(part, bytes);
    }
    if (!isPart(part)) {
      const known = [...PARTS, CI_PART, ...UPLOAD_PARAMETERS].join(", ");
      const text = `unknown part ${quote(part ?? "")}: expected ${known}`;
      problem ??= { status: 400, text };
      return void bytes.resume();
    }
    const file: FormFile = { part, name: name ?? "", start: 0, size: 0 };
    files.push(file);
    bytes.on("data", (chunk) => {
      try {
        write(file, chunk);
      } catch (error) {
        failure.abort(error);
      }
    });
  };
  try {
    const form = new Busboy({
      headers: { "content-type": contentType },
      preservePath: true,
      isPartAFile: () => true,
      limits: { files: MAX_FILES, headerSize: MAX_HEADER_BYTES },
    });
    form.on("file", onFile);
    form.on(
      "filesLimit",
      () => problem ??= { status: 413, text: `more than ${MAX_FILES} files: expected fewer` },
    );
    const input = createReadStream(path, { highWaterMark: FILE_CHUNK_BYTES });
    await pipeline(input, form, { signal: failure.signal });
  } catch (error) {
    throw asUploadError(failure.signal.aborted ? failure.signal.reason : error);
  } finally {
    closeSync(output);
  }
  if (problem !== undefined) throw new UploadError(problem.status, { body: [problem.text] });
  return { files, ...fieldsOf(texts) };
}

interface FormText {
  name: string;
  chunks: Uint8Array[];
  size: number;
}

function fieldsOf(texts: readonly FormText[]): Pick<Form, "fields" | "ci"> {
  const textOf = ({ chunks }: FormText) => new TextDecoder().decode(Buffer.concat(chunks));
  const isCi = ({ name }: FormText) => name === CI_PART;
  const fields = texts.filter((text) => !isCi(text)).map((text) => [text.name, textOf(text)]);
  return { fields: new URLSearchParams(fields), ci: texts.filter(isCi).map(textOf).join("\n") };
}

/** Writes the contents of files one after the other. */
function createFileWriter(output: number): (file: FormFile, chunk: Uint8Array) => void {
  let written = 0;
  return (file, chunk) => {
    if (file.size === 0) file.start = written;
    // The parser ends a file before it begins the next.
    if (file.start + file.size !== written) throw new Error("parts of a form overlap");
    for (let at = 0; at < chunk.length;) at += writeSync(output, chunk, at);
    file.size += chunk.length;
    written += chunk.length;
  };
}

/** Errors of the form parser have neither a code nor a class of their own. */
function asUploadError(error: unknown): unknown {
  const isFormError = error instanceof Error && error.name === "Error" && !("code" in error);
  return isFormError ? new UploadError(400, { body: [`broken form: ${error.message}`] }) : error;
}

function isPart(name: string | undefined): name is FormFile["part"] {
  return PARTS.some((part) => part === name);
}
