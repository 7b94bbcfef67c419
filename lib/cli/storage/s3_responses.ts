/** Parses the XML responses of S3-compatible storage. */
import { DEFAULT_REPORT_LIMITS } from "../../report/limits.ts";
import { XmlReader } from "../../report/xml/reader.ts";
import { StorageError } from "./storage.ts";

/** An object of a list. */
export interface S3Object {
  key: string;
  etag: string;
  /** Seconds since 1970. */
  modifiedAt: number;
}

/** A page of a list. */
export interface S3Page {
  objects: S3Object[];
  /** Continuation token, `""` on the last page. */
  nextToken: string;
}

/**
 * Reads a page of a list.
 *
 * @throws {StorageError} when it is something else
 */
export function readListPage(xml: string): S3Page {
  const page: S3Page = { objects: [], nextToken: "" };
  let isEncoded = false;
  let isList = false;
  let object: Record<string, string> = {};
  readElements(xml, (path, text) => {
    const [root, name, field] = path;
    if (root === "ListBucketResult") isList = true;
    if (name === "EncodingType") isEncoded = text === "url";
    else if (name === "NextContinuationToken") page.nextToken = text;
    else if (name === "Contents" && field !== undefined) object[field] = text;
    else if (name === "Contents") {
      page.objects.push({
        key: object.Key ?? "",
        etag: object.ETag ?? "",
        modifiedAt: Math.floor(Date.parse(object.LastModified ?? "") / 1000) || 0,
      });
      object = {};
    }
  });
  if (!isList) throw new StorageError("the response is not a list of objects: check the endpoint");
  // EncodingType may come after the keys.
  if (isEncoded) { for (const object of page.objects) object.key = decodeKey(object.key); }
  return page;
}

/** An error response in one line: status, code and message. */
export function readS3Error(status: number, xml: string): string {
  let code = "";
  let message = "";
  try {
    readElements(xml, ([, name], text) => {
      if (name === "Code") code = text;
      if (name === "Message") message = text;
    });
  } catch {
    // A proxy may respond with HTML.
  }
  return [`HTTP ${status}`, code, message].filter((part) => part !== "").join(" ");
}

function decodeKey(key: string): string {
  try {
    return decodeURIComponent(key.replaceAll("+", " "));
  } catch {
    return key;
  }
}

/** Calls back at the end of each element, with the path of its names. */
function readElements(xml: string, onElement: (path: string[], text: string) => void): void {
  const path: string[] = [];
  let text = "";
  const reader = new XmlReader({
    file: "the answer",
    limits: DEFAULT_REPORT_LIMITS,
    nameAttributes: new Set(),
    handler: {
      open(name) {
        path.push(name);
        text = "";
      },
      close() {
        onElement(path, text);
        path.pop();
        text = "";
      },
    },
  });
  reader.readText((part) => text += part);
  try {
    reader.write(xml);
    reader.end();
  } catch {
    throw new StorageError("the response is not XML: check the endpoint");
  }
}
