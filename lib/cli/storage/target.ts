/** Targets of `upload`: a folder, a bucket, an address of `receive`, or an HTTP URL for a PUT. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { randomUUID } from "node:crypto";
import * as v from "valibot";
import type { Environment } from "../../base/config.ts";
import { formatRepositoryName, type RepositoryName } from "../../base/repository_name.ts";
import { PROGRAM } from "../../base/version.ts";
import { UsageError } from "../errors.ts";
import { readSecret } from "../settings.ts";
import { moveDurably } from "./durable_file.ts";
import { fetchWithRetries } from "./retries.ts";
import { S3Bucket } from "./s3_client.ts";
import { readS3Error } from "./s3_responses.ts";
import { parseS3Url, readS3Settings } from "./s3_settings.ts";
import { StorageError } from "./storage.ts";

/** Stores an archive under a name and returns its location, without secrets. */
export type Target = (name: string, bytes: Uint8Array<ArrayBuffer>) => Promise<string>;

const PUT_TIMEOUT_MS = 10 * 60_000;
const MAX_ERROR_CHARACTERS = 10_000;

/**
 * Parses `--to`: `s3://BUCKET/PREFIX`, `https://...` or a folder. With `UPLOAD_TOKEN` a URL without
 * credentials of its own is the address of `receive`.
 *
 * @throws {UsageError} when it is something else, or credentials are missing or cannot be read
 */
export function openTarget(
  to: string,
  { environment, repository }: { environment: Environment; repository: RepositoryName },
): Target {
  if (/^https?:\/\//i.test(to)) {
    const url = URL.parse(to);
    if (!url) throw new UsageError("--to: invalid URL: expected https://HOST/PATH");
    const token = url.search + url.username === "" ? readUploadToken(environment) : undefined;
    if (token !== undefined) return (_, bytes) => putToReceiver(url, { token, repository }, bytes);
    return (name, bytes) => putHttp(url, name, bytes);
  }
  const location = parseS3Url(to, "--to", "a folder, s3://BUCKET/PREFIX or https://");
  if (!location) return (name, bytes) => putFile(to, name, bytes);
  const { bucket, prefix } = location;
  const s3 = new S3Bucket(bucket, readS3Settings(environment));
  return async (name, bytes) => {
    await s3.put(`${prefix}${name}`, bytes);
    return `s3://${bucket}/${prefix}${name}`;
  };
}

function readUploadToken(environment: Environment): string | undefined {
  try {
    return readSecret(environment, "UPLOAD_TOKEN");
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message);
    throw error;
  }
}

/** Writes a temporary file and renames it, so that a watcher never sees an incomplete one. */
async function putFile(folder: string, name: string, bytes: Uint8Array): Promise<string> {
  const path = join(folder, name);
  const temporary = join(folder, `.${randomUUID()}.unfinished`);
  try {
    await mkdir(folder, { recursive: true });
    await writeFile(temporary, bytes);
    await moveDurably(temporary, folder, name);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    // `mkdir` where a file has this name.
    if (error instanceof Error && "code" in error && /^(ENOTDIR|EEXIST)$/.test(`${error.code}`)) {
      throw new StorageError(`${path}: a part of this path is a file: check --to`);
    }
    throw new StorageError(`${path}: ${error instanceof Error ? error.message : error}`);
  }
  return path;
}

const CREATE_TOKEN = `create one with \`${PROGRAM} token create --org NAME --upload\``;

const RECEIVED = v.pipe(v.string(), v.parseJson(), v.object({ key: v.string() }));
const REFUSED = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ errors: v.record(v.string(), v.array(v.string())) }),
);

/** Puts an archive to `receive`; returns its key there. */
async function putToReceiver(
  base: URL,
  { token, repository }: { token: string; repository: RepositoryName },
  bytes: Uint8Array<ArrayBuffer>,
): Promise<string> {
  const url = new URL(base);
  const path = formatRepositoryName(repository).split("/").map(encodeURIComponent).join("/");
  url.pathname = `${url.pathname.replace(/\/$/, "")}/upload/${path}`;
  const request = `PUT ${url}`;
  const response = await fetchWithRetries(request, {
    send: () => send(url, { authorization: `Bearer ${token}` }, bytes),
    readText,
    describe(status, text) {
      if (status === 401) {
        return "UPLOAD_TOKEN is not valid there: check that the URL is that for uploads, not the API's, or " +
          CREATE_TOKEN;
      }
      const refused = v.safeParse(REFUSED, text);
      return refused.success
        ? Object.values(refused.output.errors).flat().join("; ")
        : `HTTP ${status}: expected the address of \`${PROGRAM} receive\``;
    },
  });
  const received = v.safeParse(RECEIVED, await readText(response));
  if (received.success) return received.output.key;
  throw new StorageError(`${request}: expected the address of \`${PROGRAM} receive\``);
}

function send(
  url: URL,
  headers: Record<string, string>,
  body: Uint8Array<ArrayBuffer>,
): Promise<Response> {
  return fetch(url, {
    method: "PUT",
    headers: { "content-type": "application/gzip", ...headers },
    body,
    redirect: "manual",
    signal: AbortSignal.timeout(PUT_TIMEOUT_MS),
  });
}

async function readText(response: Response): Promise<string> {
  return (await response.text()).slice(0, MAX_ERROR_CHARACTERS);
}

/** Uses a presigned URL as it is; appends the name to a URL that ends with a slash. */
async function putHttp(base: URL, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const url = new URL(base);
  const headers: Record<string, string> = {};
  if (url.username !== "") {
    const credentials = [url.username, url.password].map(decodeURIComponent).join(":");
    headers.authorization = `Basic ${new TextEncoder().encode(credentials).toBase64()}`;
    url.username = url.password = "";
  }
  // Without subfolders: WebDAV does not create them.
  if (url.pathname.endsWith("/")) url.pathname += encodeURIComponent(name.replaceAll("/", "-"));
  // The query of a presigned URL is a secret.
  const shown = `${url.origin}${url.pathname}`;
  const response = await fetchWithRetries(`PUT ${shown}`, {
    send: () => send(url, headers, bytes),
    readText,
    describe: (status, text) =>
      status === 401
        ? "HTTP 401: expected credentials in the URL, or the environment variable UPLOAD_TOKEN when " +
          `this is the address of \`${PROGRAM} receive\`: ${CREATE_TOKEN}`
        : readS3Error(status, text),
  });
  await response.body?.cancel();
  return shown;
}
