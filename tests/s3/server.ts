/**
 * A small S3 server for tests: PUT, GET, HEAD, DELETE and ListObjectsV2 on buckets in memory.
 *
 * It checks every signature with Amazon's own signer, so that client and server do not share a
 * mistake.
 */
import { createHash } from "node:crypto";
import { escapeHtml } from "../../lib/html/escape.ts";
import { verifySignature } from "./verify_signature.ts";

/** A running S3-compatible server. */
export interface S3Server {
  /** Its address, such as `http://127.0.0.1:43703`. */
  endpoint: string;
  /** The environment variables with which the program reaches it. */
  environment: Record<string, string>;
  close(): Promise<void>;
}

interface StoredObject {
  body: Uint8Array<ArrayBuffer>;
  etag: string;
  modified: Date;
}

type Bucket = Map<string, StoredObject>;

/** The credentials that the server accepts. */
const CREDENTIALS = { key: "TESTKEY", secret: "TESTSECRET", region: "us-east-1" };

/** As at Amazon. */
const MAX_KEYS = 1_000;

/** Starts a server with empty buckets. */
export function startS3Server(...names: string[]): Promise<S3Server> {
  const buckets = new Map(names.map((name): [string, Bucket] => [name, new Map()]));
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => respond(request, buckets),
  );
  const endpoint = `http://127.0.0.1:${server.addr.port}`;
  return Promise.resolve({
    endpoint,
    environment: {
      AWS_ACCESS_KEY_ID: CREDENTIALS.key,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secret,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: CREDENTIALS.region,
    },
    close: () => server.shutdown(),
  });
}

async function respond(
  request: Request,
  buckets: ReadonlyMap<string, Bucket>,
): Promise<Response> {
  const body = await request.bytes();
  const wrong = await verifySignature(request, { ...CREDENTIALS, body });
  if (wrong !== "") return failure(403, wrong);
  const { pathname, searchParams } = new URL(request.url);
  const [name = "", ...parts] = pathname.slice(1).split("/");
  const bucket = buckets.get(name);
  if (!bucket) return failure(404, "NoSuchBucket");
  const key = decodeURIComponent(parts.join("/"));
  if (key === "") {
    return request.method === "GET" ? list(bucket, searchParams) : failure(405, "MethodNotAllowed");
  }
  return respondObject(request, { bucket, key, body });
}

function respondObject(
  { method, headers }: Request,
  { bucket, key, body }: { bucket: Bucket; key: string; body: Uint8Array<ArrayBuffer> },
): Response {
  if (method === "PUT") {
    const etag = `"${createHash("md5").update(body).digest("hex")}"`;
    bucket.set(key, { body, etag, modified: new Date() });
    return new Response(null, { headers: { etag } });
  }
  if (method === "DELETE") {
    bucket.delete(key);
    return new Response(null, { status: 204 });
  }
  if (method !== "GET" && method !== "HEAD") return failure(405, "MethodNotAllowed");
  const object = bucket.get(key);
  if (!object) return failure(404, "NoSuchKey");
  const { etag, modified } = object;
  if ((headers.get("if-match") ?? etag) !== etag) return failure(412, "PreconditionFailed");
  return new Response(method === "HEAD" ? null : object.body, {
    headers: {
      etag,
      "content-length": String(object.body.length),
      "last-modified": modified.toUTCString(),
    },
  });
}

/** One page of ListObjectsV2; the continuation token is the last key of the page before. */
function list(bucket: Bucket, query: URLSearchParams): Response {
  if (query.get("list-type") !== "2") return failure(501, "NotImplemented");
  const prefix = query.get("prefix") ?? "";
  const token = query.get("continuation-token");
  const after = token === null ? query.get("start-after") ?? "" : atobText(token);
  const maxKeys = Math.min(Number(query.get("max-keys") ?? MAX_KEYS), MAX_KEYS);
  const isEncoded = query.get("encoding-type") === "url";
  const keys = [...bucket.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
  const page = keys.slice(0, maxKeys);
  const contents = page.map((key) => {
    const { body, etag, modified } = bucket.get(key)!;
    const shown = isEncoded ? encodeURIComponent(key).replaceAll("%2F", "/") : escapeHtml(key);
    return `<Contents><Key>${shown}</Key><LastModified>${modified.toISOString()}</LastModified>` +
      `<ETag>${escapeHtml(etag)}</ETag><Size>${body.length}</Size></Contents>`;
  });
  const isTruncated = keys.length > page.length;
  return xml(
    200,
    `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${contents.join("")}` +
      (isTruncated
        ? `<NextContinuationToken>${btoaText(page.at(-1) ?? "")}</NextContinuationToken>`
        : "") +
      (isEncoded ? "<EncodingType>url</EncodingType>" : "") + "</ListBucketResult>",
  );
}

function failure(status: number, code: string): Response {
  return xml(status, `<Error><Code>${code}</Code><Message>refused</Message></Error>`);
}

function xml(status: number, text: string): Response {
  return new Response(`<?xml version="1.0" encoding="UTF-8"?>${text}`, {
    status,
    headers: { "content-type": "application/xml" },
  });
}

function btoaText(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function atobText(text: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(text));
}
