// Tests: tests/lib/cli/commands/watch_s3_test.ts tests/lib/storage/s3_test.ts
/** A client for S3-compatible storage: list, get, put, with retries. Requests are signed by aws4fetch. */
import { valueOr } from "../base/error.ts";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { AwsV4Signer } from "aws4fetch";
import { PUT_TIMEOUT_MS, putFile } from "./put_file.ts";
import { fetchWithRetries, readChunks, StorageError, type StoredFile } from "./storage.ts";

export interface S3Settings {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string;
  region: string;
  /** URL of an S3-compatible service, `""` for Amazon S3. */
  endpoint: string;
}

// For the response, and for each chunk of its body.
const IDLE_TIMEOUT_MS = 60_000;

interface S3Request {
  method: "GET" | "PUT";
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  file?: StoredFile;
}

export interface S3Options {
  /** Timeout for the response, and for each chunk of its body. */
  idleMs?: number;
  /** Aborts requests, with a StorageError. */
  stop?: AbortSignal | undefined;
}

/** The requests to a bucket that the program needs, signed and repeated after failures. */
export class S3Bucket {
  #settings: S3Settings;
  #base: string;
  #idleMs: number;
  #stop: AbortSignal | undefined;
  #signingKeys = new Map<string, ArrayBuffer>();

  constructor(
    bucket: string,
    settings: S3Settings,
    { idleMs = IDLE_TIMEOUT_MS, stop }: S3Options = {},
  ) {
    this.#settings = settings;
    this.#idleMs = idleMs;
    this.#stop = stop;
    const host = `s3.${settings.region}.amazonaws.com`;
    // The wildcard certificate does not cover bucket names with dots; other services rarely have a
    // host for each bucket.
    this.#base = settings.endpoint !== ""
      ? `${settings.endpoint.replace(/\/$/, "")}/${bucket}`
      : bucket.includes(".")
      ? `https://${host}/${bucket}`
      : `https://${bucket}.${host}`;
  }

  /** The objects whose keys begin with `prefix`, in key order, page by page. */
  async *list(prefix: string) {
    let token = "";
    do {
      const query = {
        "list-type": "2",
        prefix,
        "encoding-type": "url",
        ...token === "" ? {} : { "continuation-token": token },
      };
      const response = await this.#send({ method: "GET", query });
      const { objects, nextToken } = readListPage(await this.#text(response, "list"));
      // A service that ignores the token would be listed for ever.
      if (nextToken !== "" && nextToken === token) {
        throw new StorageError(`${this.#base}: the list repeats itself: check the endpoint`);
      }
      yield objects;
      token = nextToken;
    } while (token !== "");
  }

  /** The bytes of an object, unless it was overwritten since `etag`; failures are StorageErrors. */
  async *get(key: string, etag: string): AsyncGenerator<Uint8Array, void> {
    const headers: Record<string, string> = etag === "" ? {} : { "if-match": etag };
    yield* this.#chunks(await this.#send({ method: "GET", key, headers }), key);
  }

  async put(key: string, file: StoredFile): Promise<void> {
    const headers = { "content-type": "application/gzip", "x-amz-content-sha256": file.digest };
    const response = await this.#send({ method: "PUT", key, file, headers });
    await response.body?.cancel();
  }

  #chunks({ body }: Response, name: string): AsyncGenerator<Uint8Array, void> {
    const what = `GET ${name} at ${this.#base}`;
    const bytes = body ? Readable.fromWeb(body) : Readable.from([]);
    return readChunks(bytes, { what, idleMs: this.#idleMs, stop: this.#stop });
  }

  /** The body of a response other than an object. */
  #text(response: Response, name: string): Promise<string> {
    return text(this.#chunks(response, name));
  }

  #send(request: S3Request): Promise<Response> {
    const name = request.key ?? "list";
    return fetchWithRetries(`${request.method} ${name} at ${this.#base}`, {
      send: () => this.#fetch(request),
      problemOf: async (response) => readS3Error(response.status, await this.#text(response, name)),
      stop: this.#stop,
    });
  }

  async #fetch({ method, key, query = {}, headers, file }: S3Request): Promise<Response> {
    const search = Object.entries(query)
      .map(([name, value]) => `${name}=${encodeStrictly(value)}`).join("&");
    const path = key === undefined
      ? "/"
      : `/${checkedKey(key).split("/").map(encodeStrictly).join("/")}`;
    const signed = await new AwsV4Signer({
      ...this.#settings,
      method,
      url: `${this.#base}${path}${search && `?${search}`}`,
      headers: headers ?? {},
      service: "s3",
      cache: this.#signingKeys,
    }).sign();
    const abort = new AbortController();
    const timeoutMs = method === "PUT" ? PUT_TIMEOUT_MS : this.#idleMs;
    const timer = setTimeout(() => abort.abort(), timeoutMs);
    const signal = this.#stop ? AbortSignal.any([abort.signal, this.#stop]) : abort.signal;
    try {
      if (file) {
        return await putFile(file, {
          url: signed.url,
          headers: Object.fromEntries(signed.headers),
          signal,
        });
      }
      // A signature is valid for one host only.
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        redirect: "manual",
        signal,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

function checkedKey(key: string): string {
  if (key.split("/").some((segment) => segment === "." || segment === "..")) {
    throw new StorageError(`${key}: a segment "." or ".." cannot be part of a URL`);
  }
  return key;
}

function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Reads a page of a list; the XML uses no more than elements of text. `modifiedAt` is in seconds since
 * 1970, `nextToken` is `""` on the last page.
 *
 * @throws {StorageError} when it is something else
 */
function readListPage(xml: string) {
  if (!/<ListBucketResult[\s>][^]*<\/ListBucketResult>/.test(xml)) {
    throw new StorageError("the response is not a list of objects: check the endpoint");
  }
  const isEncoded = textOf(xml, "EncodingType") === "url";
  const objects = Array.from(xml.matchAll(/<Contents>(.*?)<\/Contents>/gs), ([, object = ""]) => {
    const key = textOf(object, "Key");
    return {
      key: isEncoded ? valueOr(() => decodeURIComponent(key.replaceAll("+", " ")), key) : key,
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
