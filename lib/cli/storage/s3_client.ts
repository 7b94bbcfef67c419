/**
 * The three requests to S3-compatible storage that this program makes: list, get, put. Signing is
 * the library's; addresses, repetition and errors are here.
 */
import { createHash } from "node:crypto";
import { AwsV4Signer } from "aws4fetch";
import { pause } from "../../base/delay.ts";
import { readListPage, readS3Error, type S3Page } from "./s3_responses.ts";
import { readPieces } from "./chunks.ts";
import type { S3Settings } from "./s3_settings.ts";
import { StorageError } from "./storage.ts";

const ATTEMPTS = 4;
const FIRST_PAUSE_MS = 200;
// Until the answer begins, and again for each piece of it: a large body takes as long as it takes,
// a silent one does not.
const IDLE_TIMEOUT_MS = 60_000;
/** An answer that is not an object: a list of a thousand keys has some 300 kB. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;

interface S3Request {
  method: "GET" | "PUT";
  key?: string;
  query?: Record<string, string>;
  headers?: Record<string, string>;
  body?: Uint8Array<ArrayBuffer>;
}

/** How long is waited for a service. */
export interface S3Patience {
  /** Longest wait for an answer, and for each piece of one, in milliseconds. */
  idleMs?: number;
  /** Ends what is under way, with a StorageError. */
  stop?: AbortSignal | undefined;
}

/** A bucket. */
export class S3Bucket {
  #settings: S3Settings;
  #base: string;
  #idleMs: number;
  #stop: AbortSignal | undefined;
  #signingKeys = new Map<string, ArrayBuffer>();

  constructor(
    bucket: string,
    settings: S3Settings,
    { idleMs = IDLE_TIMEOUT_MS, stop }: S3Patience = {},
  ) {
    this.#settings = settings;
    this.#idleMs = idleMs;
    this.#stop = stop;
    const host = `s3.${settings.region}.amazonaws.com`;
    // A certificate for *.s3... does not hold for a name with dots; services elsewhere rarely have
    // a host for each bucket.
    this.#base = settings.endpoint !== ""
      ? `${settings.endpoint.replace(/\/$/, "")}/${bucket}`
      : bucket.includes(".")
      ? `https://${host}/${bucket}`
      : `https://${bucket}.${host}`;
  }

  /** One page of the objects whose keys begin with `prefix`, in the order of their keys. */
  async list(prefix: string, token = ""): Promise<S3Page> {
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

  /**
   * An object's bytes. Reading them fails with a StorageError, also when none come any more.
   *
   * @param etag refuses an object that was overwritten since
   */
  async get(key: string, etag: string): Promise<AsyncGenerator<Uint8Array, void>> {
    const response = await this.#send({
      method: "GET",
      key,
      headers: etag === "" ? {} : { "if-match": etag },
    });
    return this.#pieces(response, key);
  }

  async put(key: string, body: Uint8Array<ArrayBuffer>): Promise<void> {
    const headers = {
      "content-type": "application/gzip",
      "x-amz-content-sha256": createHash("sha256").update(body).digest("hex"),
    };
    const response = await this.#send({ method: "PUT", key, body, headers });
    await response.body?.cancel();
  }

  #pieces(response: Response, name: string): AsyncGenerator<Uint8Array, void> {
    const reader = (response.body ?? new Blob([]).stream()).getReader();
    return readPieces(piecesOf(reader), {
      what: `GET ${name} at ${this.#base}`,
      idleMs: this.#idleMs,
      stop: this.#stop,
      close: () => void reader.cancel().catch(() => {}),
    });
  }

  /** An answer that is no object, whole. */
  async #text(response: Response, name: string): Promise<string> {
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of this.#pieces(response, name)) {
      text += decoder.decode(piece, { stream: true });
      if (text.length > MAX_ANSWER_BYTES) {
        throw new StorageError(`an answer of more than ${MAX_ANSWER_BYTES} bytes`);
      }
    }
    return text;
  }

  async #send(request: S3Request): Promise<Response> {
    const what = `${request.method} ${request.key ?? "list"} at ${this.#base}`;
    for (let attempt = 1;; attempt++) {
      let problem: string;
      let mayPass = true;
      try {
        const response = await this.#fetch(request);
        if (response.ok) return response;
        mayPass = response.status >= 500 || response.status === 429;
        problem = readS3Error(response.status, await this.#text(response, request.key ?? "list"));
      } catch (error) {
        if (error instanceof StorageError) throw error;
        if (this.#stop?.aborted) throw new StorageError(`${what}: told to stop`);
        // The address is in `what`; the message of a failed fetch may have the query in it.
        problem = error instanceof DOMException ? error.name : causeOf(error);
      }
      if (!mayPass || attempt === ATTEMPTS) throw new StorageError(`${what}: ${problem}`);
      await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1), this.#stop);
    }
  }

  async #fetch({ method, key, query = {}, headers, body }: S3Request): Promise<Response> {
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
    const timer = setTimeout(() => abort.abort(), this.#idleMs);
    try {
      // Not followed: what is signed is signed for one host.
      return await fetch(signed.url, {
        method,
        headers: signed.headers,
        body: body ?? null,
        redirect: "manual",
        signal: this.#stop ? AbortSignal.any([abort.signal, this.#stop]) : abort.signal,
      });
    } finally {
      clearTimeout(timer);
    }
  }
}

function checkedKey(key: string): string {
  if (key.split("/").some((segment) => segment === "." || segment === "..")) {
    throw new StorageError(`${key}: has a segment that no URL can carry (. or ..)`);
  }
  return key;
}

function encodeStrictly(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

async function* piecesOf(
  reader: ReadableStreamDefaultReader<Uint8Array>,
): AsyncGenerator<Uint8Array, void> {
  while (true) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const message = cause instanceof Error ? cause.message : String(cause);
  return message.replaceAll(/\?\S*/g, "?...");
}
