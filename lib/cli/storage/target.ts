/** Where `upload` puts an archive: a folder, a bucket, or an address that takes a PUT. */
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { randomUUID } from "node:crypto";
import type { Environment } from "../../base/config.ts";
import { pause } from "../../base/delay.ts";
import { S3Bucket } from "./s3_client.ts";
import { parseS3Url, readS3Settings } from "./s3_settings.ts";
import { readS3Error } from "./s3_responses.ts";
import { StorageError } from "./storage.ts";

/** Puts an archive under a name and returns where it is, without any secret. */
export type Target = (name: string, bytes: Uint8Array<ArrayBuffer>) => Promise<string>;

const PUT_ATTEMPTS = 3;
const FIRST_PAUSE_MS = 500;
const PUT_TIMEOUT_MS = 10 * 60_000;
const MAX_REFUSAL_CHARACTERS = 10_000;

/**
 * What `--to` means: `s3://BUCKET/PREFIX`, `https://...` or a folder.
 *
 * @throws {SyntaxError} when it is no address
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
    if (!URL.canParse(to)) throw new SyntaxError("is no address: expected https://HOST/PATH");
    return (name, bytes) => putHttp(new URL(to), name, bytes);
  }
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(to)) {
    throw new SyntaxError(
      `"${to}" is no target: expected a folder, s3://BUCKET/PREFIX or https://`,
    );
  }
  return (name, bytes) => putFile(join(to, name), bytes);
}

/** Written beside and renamed: whoever watches the folder sees it whole or not at all. */
async function putFile(path: string, bytes: Uint8Array): Promise<string> {
  const unfinished = join(dirname(path), `.${randomUUID()}.unfinished`);
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(unfinished, bytes);
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    throw new StorageError(`${path}: ${error instanceof Error ? error.message : error}`);
  }
  return path;
}

/** A presigned address is taken as it is; below one that ends with a slash the name is appended. */
async function putHttp(url: URL, name: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const headers = new Headers({ "content-type": "application/gzip" });
  if (url.username !== "") {
    const credentials = [url.username, url.password].map(decodeURIComponent).join(":");
    const encoded = new TextEncoder().encode(credentials);
    headers.set("authorization", `Basic ${btoa(String.fromCharCode(...encoded))}`);
    url.username = url.password = "";
  }
  // One level: a WebDAV folder must exist before something is put into it.
  if (url.pathname.endsWith("/")) url.pathname += encodeURIComponent(name.replaceAll("/", "-"));
  // The query of a presigned address is a secret.
  const shown = `${url.origin}${url.pathname}`;
  for (let attempt = 1;; attempt++) {
    let problem: string;
    let mayPass = true;
    try {
      const response = await fetch(url, {
        method: "PUT",
        headers,
        body: bytes,
        redirect: "manual",
        signal: AbortSignal.timeout(PUT_TIMEOUT_MS),
      });
      const text = (await response.text()).slice(0, MAX_REFUSAL_CHARACTERS);
      if (response.ok) return shown;
      mayPass = response.status >= 500 || response.status === 429;
      problem = readS3Error(response.status, text);
    } catch (error) {
      problem = error instanceof DOMException ? error.name : "the server cannot be reached";
    }
    if (!mayPass || attempt === PUT_ATTEMPTS) throw new StorageError(`PUT ${shown}: ${problem}`);
    await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1));
  }
}
