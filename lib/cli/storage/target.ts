/** Targets of `upload`: a folder, a bucket, or an HTTP URL for a PUT. */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import type { Environment } from "../../base/config.ts";
import { fetchWithRetries } from "./retries.ts";
import { S3Bucket } from "./s3_client.ts";
import { parseS3Url, readS3Settings } from "./s3_settings.ts";
import { StorageError } from "./storage.ts";

/** Stores an archive under a name and returns its location, without secrets. */
export type Target = (name: string, bytes: Uint8Array<ArrayBuffer>) => Promise<string>;

const PUT_TIMEOUT_MS = 10 * 60_000;
const MAX_ERROR_CHARACTERS = 10_000;

/**
 * Parses `--to`: `s3://BUCKET/PREFIX`, `https://...` or a folder.
 *
 * @throws {SyntaxError} when it is something else
 * @throws {UsageError} when credentials are missing
 */
export function openTarget(
  to: string,
  { environment, endpoint }: { environment: Environment; endpoint: string | undefined },
): Target {
  if (/^s3:/i.test(to)) {
    const { bucket, prefix } = parseS3Url(to);
    const s3 = new S3Bucket(bucket, readS3Settings(environment, endpoint));
    return async (name, bytes) => {
      await s3.put(`${prefix}${name}`, bytes);
      return `s3://${bucket}/${prefix}${name}`;
    };
  }
  if (/^https?:\/\//i.test(to)) {
    if (!URL.canParse(to)) throw new SyntaxError("invalid URL: expected https://HOST/PATH");
    return (name, bytes) => putHttp(new URL(to), name, bytes);
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(to)) {
    throw new SyntaxError(
      `invalid target "${to}": expected a folder, s3://BUCKET/PREFIX or https://`,
    );
  }
  return (name, bytes) => putFile(join(to, name), bytes);
}

/** Writes a temporary file and renames it, so that a watcher never sees an incomplete one. */
async function putFile(path: string, bytes: Uint8Array): Promise<string> {
  const temporary = join(dirname(path), `.${randomUUID()}.unfinished`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(temporary, bytes);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw new StorageError(`${path}: ${error instanceof Error ? error.message : error}`);
  }
  return path;
}

/** Uses a presigned URL as it is; appends the name to a URL that ends with a slash. */
async function putHttp(url: URL, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const headers = new Headers({ "content-type": "application/gzip" });
  if (url.username !== "") {
    const credentials = [url.username, url.password].map(decodeURIComponent).join(":");
    headers.set("authorization", `Basic ${new TextEncoder().encode(credentials).toBase64()}`);
    url.username = url.password = "";
  }
  // Without subfolders: WebDAV does not create them.
  if (url.pathname.endsWith("/")) url.pathname += encodeURIComponent(name.replaceAll("/", "-"));
  // The query of a presigned URL is a secret.
  const shown = `${url.origin}${url.pathname}`;
  const response = await fetchWithRetries(`PUT ${shown}`, {
    send: () =>
      fetch(url, {
        method: "PUT",
        headers,
        body: bytes,
        redirect: "manual",
        signal: AbortSignal.timeout(PUT_TIMEOUT_MS),
      }),
    readText: async (response) => (await response.text()).slice(0, MAX_ERROR_CHARACTERS),
  });
  await response.body?.cancel();
  return shown;
}
