/** Parses the XML responses of S3-compatible storage. */
import { DEFAULT_REPORT_LIMITS } from "../../report/limits.ts";
import { XmlReader } from "../../report/xml/reader.ts";
import { StorageError } from "./storage.ts";

export interface S3Page {
  /** `modifiedAt` is in seconds since 1970. */
  objects: { key: string; etag: string; modifiedAt: number }[];
  /** Continuation token, `""` on the last page. */
  nextToken: string;
}

/** Reads a page of a list. @throws {StorageError} when it is something else */
export function readListPage(xml: string): S3Page {
  const page: S3Page = { objects: [], nextToken: "" };
  let isEncoded = false;
  let isList = false;
  let object: Record<string, string> = {};
  readElements(xml, ([root, name, field], text) => {
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
  const found: Record<string, string> = {};
  try {
    readElements(xml, ([, name = ""], text) => found[name] = text);
  } catch {
    // A proxy may respond with HTML.
  }
  return [`HTTP ${status}`, found.Code, found.Message].filter(Boolean).join(" ");
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
    file: "the response",
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
