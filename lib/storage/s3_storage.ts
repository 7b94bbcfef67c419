// Tests: tests/lib/cli/commands/watch_s3_test.ts tests/lib/storage/s3_test.ts
/** Archives in a bucket of S3-compatible storage: its address, its settings, its objects. */
import { type Environment, setting, type SettingName } from "../base/config.ts";
import type { ArchiveSource } from "../report/archive/mod.ts";
import { UsageError } from "../base/failure.ts";
import { S3Bucket, type S3Options, type S3Settings } from "./s3_client.ts";
import { type ArchiveStorage, isArchiveName, type StoredArchive } from "./storage.ts";

interface S3Location {
  bucket: string;
  /** `""`, or ending with a slash. */
  prefix: string;
}

/**
 * Parses `s3://bucket/prefix`, with or without a slash at the end; `null` for a folder.
 *
 * @param option the name of the option or argument, for errors
 * @throws {UsageError} for an invalid bucket, and for any other URL
 */
export function parseS3Url(
  text: string,
  option: string,
  expected = "a folder or s3://BUCKET/PREFIX",
): S3Location | null {
  if (!/^[a-z][a-z0-9+.-]+:\/\/|^s3:/i.test(text)) return null;
  const [, bucket, path = ""] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,62})(?:\/(.*))?$/i.exec(text) ??
    [];
  if (bucket === undefined) {
    throw new UsageError(`${option}: invalid address "${text}": expected ${expected}`);
  }
  const prefix = path.replace(/\/+$/, "");
  return { bucket, prefix: prefix === "" ? "" : `${prefix}/` };
}

/** Reads the settings from the environment. @throws {UsageError} */
export function readS3Settings(environment: Environment): S3Settings {
  const get = (name: Parameters<typeof setting>[1]) => setting(environment, name).trim();
  const settings = {
    accessKeyId: get("AWS_ACCESS_KEY_ID"),
    secretAccessKey: get("AWS_SECRET_ACCESS_KEY"),
    sessionToken: get("AWS_SESSION_TOKEN"),
    region: environment.AWS_REGION?.trim() || get("AWS_DEFAULT_REGION") || get("AWS_REGION"),
    endpoint: get("AWS_ENDPOINT_URL_S3") || get("AWS_ENDPOINT_URL"),
  };
  if (settings.accessKeyId === "" || settings.secretAccessKey === "") {
    throw new UsageError(
      "missing AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: expected both in the environment",
    );
  }
  if (settings.endpoint !== "" && !/^https?:\/\/[^/?#]+\/?$/.test(settings.endpoint)) {
    throw new UsageError(
      `invalid endpoint "${settings.endpoint}": expected https://HOST`,
    );
  }
  return settings;
}

export const STORAGE_VARIABLES = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_REGION",
  "AWS_DEFAULT_REGION",
  "AWS_ENDPOINT_URL_S3",
  "AWS_ENDPOINT_URL",
] as const satisfies readonly SettingName[];

/** Archives below a prefix of a bucket. */
export class S3Storage implements ArchiveStorage {
  readonly name: string;
  #bucket: S3Bucket;
  #prefix: string;

  constructor({ bucket, prefix }: S3Location, settings: S3Settings, options: S3Options = {}) {
    this.#bucket = new S3Bucket(bucket, settings, options);
    this.#prefix = prefix;
    const url = `s3://${bucket}/${prefix}`;
    // Two services may have buckets of the same name.
    this.name = settings.endpoint === "" ? url : `${url} at ${settings.endpoint}`;
  }

  async *list(): AsyncGenerator<StoredArchive[], void> {
    for await (const objects of this.#bucket.list(this.#prefix)) {
      yield objects.filter(({ key }) => isArchiveName(key))
        // Objects appear only when they are complete.
        .map(({ key, etag, modifiedAt: uploadedAt }) => ({
          key,
          version: `${etag} ${uploadedAt}`,
          uploadedAt,
          isComplete: true,
        }));
    }
  }

  /** Downloads the archive at each reading: most are small, and no temporary files are needed. */
  open({ key, version }: StoredArchive): ArchiveSource {
    const [etag] = version.split(" ");
    return { name: key, open: () => this.#bucket.get(key, etag!) };
  }
}
