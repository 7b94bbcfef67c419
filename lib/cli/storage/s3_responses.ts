/** Parses the XML responses of S3-compatible storage, which use no more of XML than elements of text. */
import { StorageError } from "./storage.ts";

export interface S3Page {
  /** `modifiedAt` is in seconds since 1970. */
  objects: { key: string; etag: string; modifiedAt: number }[];
  /** Continuation token, `""` on the last page. */
  nextToken: string;
}

/** Reads a page of a list. @throws {StorageError} when it is something else */
export function readListPage(xml: string): S3Page {
  if (!/<ListBucketResult[\s>][^]*<\/ListBucketResult>/.test(xml)) {
    throw new StorageError("the response is not a list of objects: check the endpoint");
  }
  const isEncoded = textOf(xml, "EncodingType") === "url";
  const objects = Array.from(xml.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, object = ""]) => {
    const key = textOf(object, "Key");
    return {
      key: isEncoded ? decodeKey(key) : key,
      etag: textOf(object, "ETag"),
      modifiedAt: Math.floor(Date.parse(textOf(object, "LastModified")) / 1000) || 0,
    };
  });
  return { objects, nextToken: textOf(xml, "NextContinuationToken") };
}

/** An error response in one line: status, code and message. A proxy may respond with HTML. */
export function readS3Error(status: number, xml: string): string {
  return [`HTTP ${status}`, textOf(xml, "Code"), textOf(xml, "Message")].filter(Boolean).join(" ");
}

const ENTITIES: Record<string, string> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'" };

/** The text of the first element with a name, `""` when there is none. */
function textOf(xml: string, name: string): string {
  const [, text = ""] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text.replaceAll(
    /&(?:#(\d{1,7})|#x([0-9a-f]{1,6})|(\w+));/gi,
    (found, decimal, hexadecimal, entity) => {
      const code = decimal ? Number(decimal) : parseInt(hexadecimal, 16);
      return code <= 0x10ffff ? String.fromCodePoint(code) : ENTITIES[entity] ?? found;
    },
  );
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return key;
  }
}
