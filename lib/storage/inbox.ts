// Tests: tests/lib/storage/http_target_test.ts tests/lib/storage/s3_test.ts
/** Where archives are stored: a folder, a bucket, an address of `receive`, or an HTTP URL for a PUT. */
import { join } from "node:path";
import * as v from "valibot";
import type { Environment } from "../base/config.ts";
import { readSecret } from "../system/secret.ts";
import { formatRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { PROGRAM } from "../base/version.ts";
import { UsageError } from "../base/failure.ts";
import { DurableFolder } from "./folder.ts";
import { PUT_TIMEOUT_MS, putFile } from "./put_file.ts";
import { readS3Error, S3Bucket } from "./s3_client.ts";
import { parseS3Url, readS3Settings } from "./s3_storage.ts";
import { TEMPORARY_FOLDER } from "./work_folder.ts";
import { fetchWithRetries, StorageError, type StoredFile } from "./storage.ts";

/** Stores archives for `watch`. */
export interface Inbox {
  /** Parent of the folders for unfinished files: on the file system of the folder. */
  unfinished: string;
  /**
   * Stores a finished file durably; the file may be moved. Returns its key in `watch`, and for
   * {@linkcode openTarget} its location, which `upload` prints.
   */
  put(file: StoredFile, name: string): Promise<string>;
}

/** Where `up` keeps what it has received until it is processed. */
export function inboxFolder(dataDir: string): string {
  return join(dataDir, "inbox");
}

/**
 * Parses `--to`: a folder or `s3://BUCKET/PREFIX`.
 *
 * @throws {UsageError} when it is something else, or credentials are missing
 */
export function openInbox(
  to: string,
  environment: Environment,
  { expected, isPrivate = false }: {
    /** What `to` may be, for the message. */
    expected?: string;
    /** Whether files and folders are their owner's alone, whatever the umask. */
    isPrivate?: boolean;
  } = {},
): Inbox {
  const location = parseS3Url(to, "--to", expected);
  if (location) {
    const { bucket, prefix } = location;
    const s3 = new S3Bucket(bucket, readS3Settings(environment));
    return {
      unfinished: TEMPORARY_FOLDER,
      async put(file, name) {
        await s3.put(`${prefix}${name}`, file);
        return `${prefix}${name}`;
      },
    };
  }
  const folder = new DurableFolder(to, isPrivate);
  return {
    // `watch` ignores hidden folders.
    unfinished: join(to, ".unfinished"),
    async put({ path }, name) {
      await folder.move(path, name);
      return name;
    },
  };
}

/** Responses of `receive`. */
const RECEIVED = v.pipe(
  v.string(),
  v.parseJson(),
  v.object({ key: v.string(), web_url: v.optional(v.string(), "") }),
);
const REFUSED = v.pipe(
  v.string(),
  v.parseJson(),
  v.union([
    v.object({ errors: v.record(v.string(), v.array(v.string())) }),
    v.object({ message: v.string() }),
  ]),
);

/**
 * Parses `--to`: `s3://BUCKET/PREFIX`, `https://...` or a folder. With `UPLOAD_TOKEN` a URL without
 * credentials of its own is the address of `receive`. `put` returns a location without secrets.
 *
 * @throws {UsageError} when it is something else, or credentials are missing or cannot be read
 */
export function openTarget(
  to: string,
  { environment, repository, onPage }: {
    environment: Environment;
    repository: RepositoryName;
    /** Called with the page of the build, if `receive` names it. */
    onPage?: (url: string) => void;
  },
): Inbox {
  if (!/^https?:\/\//i.test(to)) {
    const expected = "a folder, s3://BUCKET/PREFIX or https://";
    const inbox = openInbox(to, environment, { expected });
    return {
      ...inbox,
      async put(file, name) {
        await inbox.put(file, name);
        return to.startsWith("s3:") ? `${to.replace(/\/+$/, "")}/${name}` : join(to, name);
      },
    };
  }
  const url = URL.parse(to);
  if (!url) throw new UsageError("--to: invalid URL: expected https://HOST/PATH");
  const token = url.search + url.username === "" ? readUploadToken(environment) : undefined;
  return {
    unfinished: TEMPORARY_FOLDER,
    put: (file, name) =>
      token === undefined
        ? putHttp(url, name, file)
        : putToReceiver(url, { token, repository, onPage }, file),
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

/** Puts an archive to `receive`; returns its key there. */
async function putToReceiver(
  base: URL,
  { token, repository, onPage }: {
    token: string;
    repository: RepositoryName;
    onPage: ((url: string) => void) | undefined;
  },
  file: StoredFile,
): Promise<string> {
  const url = new URL(base);
  const path = formatRepositoryName(repository).split("/").map(encodeURIComponent).join("/");
  url.pathname = `${url.pathname.replace(/\/$/, "")}/upload/${path}`;
  const received = v.safeParse(RECEIVED, await putTo(url, `Bearer ${token}`, file));
  if (received.success) {
    const { key, web_url: page } = received.output;
    // As a link of a log.
    if (/^https?:\/\/[\x21-\x7e]{1,2000}$/.test(page)) onPage?.(page);
    return key;
  }
  throw new StorageError(`PUT ${url}: expected the address of \`${PROGRAM} receive\``);
}

/** Uses a presigned URL as it is; appends the name to a URL that ends with a slash. */
async function putHttp(base: URL, name: string, file: StoredFile): Promise<string> {
  const url = new URL(base);
  const credentials = [url.username, url.password].map(decodeURIComponent).join(":");
  url.username = url.password = "";
  // Without subfolders: WebDAV does not create them.
  if (url.pathname.endsWith("/")) url.pathname += encodeURIComponent(name.replaceAll("/", "-"));
  const basic = `Basic ${new TextEncoder().encode(credentials).toBase64()}`;
  await putTo(url, credentials === ":" ? "" : basic, file);
  return shown(url);
}

/** Without the query, which is a secret in a presigned URL. */
function shown({ origin, pathname }: URL): string {
  return `${origin}${pathname}`;
}

async function putTo(url: URL, authorization: string, file: StoredFile): Promise<string> {
  const headers = { "content-type": "application/gzip", ...authorization && { authorization } };
  const response = await fetchWithRetries(`PUT ${shown(url)}`, {
    send: () => putFile(file, { url, headers, signal: AbortSignal.timeout(PUT_TIMEOUT_MS) }),
    async problemOf(response) {
      const { status } = response;
      if (status === 401) {
        return `HTTP 401: expected credentials in the URL, or the address of \`${PROGRAM} receive\` ` +
          "(not the API's) with a valid token in UPLOAD_TOKEN: create one with " +
          `\`${PROGRAM} token create --org NAME --upload\``;
      }
      const text = await response.text();
      const refused = v.safeParse(REFUSED, text);
      if (refused.success) {
        const { output } = refused;
        return "message" in output
          ? output.message
          : Object.values(output.errors).flat().join("; ");
      }
      return `${readS3Error(status, text)}: check --to`;
    },
  });
  return await response.text();
}
