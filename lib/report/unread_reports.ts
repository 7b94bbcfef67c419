// Tests: tests/lib/report/report_files_test.ts
/** Reports in a folder that stands for its `*.xml` files only: reading others could count results twice. */
import { constants, gunzipSync } from "node:zlib";
import { HEAD_BYTES, readHead } from "./file_head.ts";
import { beginsReport } from "./read_report.ts";
import { decodeXml } from "./xml/decode.ts";

/** A file below a folder that an argument names. */
export interface FileBelow {
  path: string;
  /** As it was given. */
  folder: string;
}

/** Names of reports other than `*.xml`. Screenshots and HTML are none. */
const NAMES = /(?:\.(?:trx|jsonl?|ndjson|txt|log|out|gz)|\.xml\.[^.]+|^[^.]+)$/i;

/** Files whose beginning is read, those first that are a report by their name. */
const MAX_FILES = 10_000;
const CONCURRENCY = 32;
/** Of a gzip'd file: at most 8 MB of what it stands for. */
const GZIP_BYTES = 8 * 1024;

/** Whether a report may have this name. */
export function mayBeReport(name: string): boolean {
  return NAMES.test(name);
}

/** The files that are reports by their beginning, each with the reason why it is not read. */
export async function unreadReports(
  files: readonly FileBelow[],
): Promise<{ path: string; reason: string }[]> {
  const isTrx = ({ path }: FileBelow) => /\.trx$/i.test(path);
  const examined = [...files.filter(isTrx), ...files.filter((file) => !isTrx(file))]
    .slice(0, MAX_FILES);
  const found: { path: string; reason: string }[] = [];
  for (let start = 0; start < examined.length; start += CONCURRENCY) {
    const some = examined.slice(start, start + CONCURRENCY);
    found.push(...(await Promise.all(some.map(examine))).flat());
  }
  return found;
}

async function examine({ path, folder }: FileBelow) {
  // One that cannot be read is none.
  const bytes = await readHead(path).catch(() => new Uint8Array());
  const isCompressed = bytes[0] === 0x1f && bytes[1] === 0x8b;
  if (!await isHeadOfReport(isCompressed ? gunzipHead(bytes) : bytes, path)) return [];
  const [extension = ""] = /\.[^./\\]+$/.exec(path) ?? [];
  const pattern = `'${folder.replace(/[/\\]+$/, "")}/**/*${extension}'`;
  const next = isCompressed
    ? "uncompress it"
    : extension === ""
    ? "name it"
    : `name it, or a pattern such as ${pattern}`;
  return [{
    path,
    reason: `is a report and was not read: a folder stands for its *.xml files; ${next}`,
  }];
}

/** The bytes that the first ones of a gzip'd file stand for; none if it is damaged. */
function gunzipHead(bytes: Uint8Array): Uint8Array {
  try {
    return gunzipSync(bytes.subarray(0, GZIP_BYTES), { finishFlush: constants.Z_SYNC_FLUSH })
      .subarray(0, HEAD_BYTES);
  } catch {
    return new Uint8Array();
  }
}

async function isHeadOfReport(bytes: Uint8Array, path: string): Promise<boolean> {
  try {
    const text = (await Array.fromAsync(decodeXml(ReadableStream.from([bytes]), path))).join("");
    // As in an archive of reports.
    return !text.includes("\0") && beginsReport(text);
  } catch {
    return false;
  }
}
