/** A client for S3-compatible storage: list, get, put, with retries. Requests are signed by aws4fetch. */
import { once } from "node:events";
import { createReadStream } from "node:fs";
import http from "node:http";
import https from "node:https";
import { pipeline } from "node:stream/promises";
import { AwsV4Signer } from "aws4fetch";
import { fetchWithRetries } from "./retries.ts";
import { readChunks, StorageError, type StoredFile } from "./storage.ts";

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
const PUT_TIMEOUT_MS = 10 * 60_000;
/** Limit of a response other than an object: a list of 1,000 keys has about 300 kB. */
const MAX_TEXT_BYTES = 8 * 1024 * 1024;

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

  /** A page of the objects whose keys begin with `prefix`, in key order. */
  async list(prefix: string, token = "") {
    const response = await this.#send({
      method: "GET",
      query: {
        "list-type": "2",
        prefix,
        "encoding-type": "url",
        ...token === "" ? {} : { "continuation-token": token },
      },
    });
    return readListPage(await this.#text(response, "list"));
  }

  /** The bytes of an object, unless it was overwritten since `etag`; failures are StorageErrors. */
  async get(key: string, etag: string): Promise<AsyncGenerator<Uint8Array, void>> {
    const response = await this.#send({
      method: "GET",
      key,
      headers: etag === "" ? {} : { "if-match": etag },
    });
    return this.#chunks(response, key);
  }

  async put(key: string, file: StoredFile): Promise<void> {
    const headers = { "content-type": "application/gzip", "x-amz-content-sha256": file.digest };
    const response = await this.#send({ method: "PUT", key, file, headers });
    await response.body?.cancel();
  }

  #chunks(response: Response, name: string): AsyncGenerator<Uint8Array, void> {
    const reader = (response.body ?? new Blob([]).stream()).getReader();
    return readChunks(chunksOf(reader), {
      what: `GET ${name} at ${this.#base}`,
      idleMs: this.#idleMs,
      stop: this.#stop,
      close: () => void reader.cancel().catch(() => {}),
    });
  }

  /** The body of a response other than an object. */
  async #text(response: Response, name: string): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const chunk of this.#chunks(response, name)) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > MAX_TEXT_BYTES) {
        throw new StorageError(`a response of more than ${MAX_TEXT_BYTES} bytes`);
      }
    }
    return text;
  }

  async #send(request: S3Request): Promise<Response> {
    const what = `${request.method} ${request.key ?? "list"} at ${this.#base}`;
    return await fetchWithRetries(what, {
      send: () => this.#fetch(request),
      readText: (response) => this.#text(response, request.key ?? "list"),
      describe: readS3Error,
      stop: this.#stop,
    });
  }

  async #fetch({ method, key, query = {}, headers, file }: S3Request): Promise<Response> {
    const search = Object.entries(query)
      .map(([name, value]) => `${name}=${encodeStrictly(value)}`).join("&");
    const path = key === undefined
      ? "/"
      : `/${checkedKey(key).split("/").map(encodeStrictly).join("/")}`;
    const signed = await new AwsV4Signer(
      {
        ...this.#settings,
        ...this.#settings.sessionToken === "" ? { sessionToken: undefined } : {},
        method,
        url: `${this.#base}${path}${search && `?${search}`}`,
        headers: headers ?? {},
        service: "s3",
        cache: this.#signingKeys,
      } as ConstructorParameters<typeof AwsV4Signer>[0],
    ).sign();
    const abort = new AbortController();
    const timeoutMs = method === "PUT" ? PUT_TIMEOUT_MS : this.#idleMs;
    const timer = setTimeout(() => abort.abort(), timeoutMs);
    const signal = this.#stop ? AbortSignal.any([abort.signal, this.#stop]) : abort.signal;
    try {
      if (file) return await putFile(file, signed, signal);
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

/** Sends a file as it is read. `fetch` does not tell the length of a stream, which S3 demands. */
async function putFile(
  { path, size }: StoredFile,
  { url, headers }: { url: URL; headers: Headers },
  signal: AbortSignal,
): Promise<Response> {
  const request = (url.protocol === "https:" ? https : http).request(url, {
    method: "PUT",
    headers: { ...Object.fromEntries(headers), "content-length": size },
    signal,
  });
  const responded = once(request, "response");
  // Its failure is that of the request.
  pipeline(createReadStream(path), request).catch(() => {});
  const [response] = await responded;
  return new Response(ReadableStream.from(response), { status: response.statusCode });
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

async function* chunksOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
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
