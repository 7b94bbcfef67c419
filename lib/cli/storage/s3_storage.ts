import type { ArchiveSource } from "../../report/archive/mod.ts";
import { S3Bucket, type S3Options } from "./s3_client.ts";
import type { S3Location, S3Settings } from "./s3_settings.ts";
import {
  type ArchiveStorage,
  isArchiveName,
  isStorableKey,
  StorageError,
  type StoredArchive,
} from "./storage.ts";

/** The archives in a bucket, below a prefix. */
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
    let token = "";
    do {
      const page = await this.#bucket.list(this.#prefix, token);
      // A service that ignores the token would be listed for ever.
      if (page.nextToken !== "" && page.nextToken === token) {
        throw new StorageError(`${this.name}: the list repeats itself: check the endpoint`);
      }
      const archives = page.objects.filter(({ key }) => isArchiveName(key) && isStorableKey(key))
        .map(({ key, etag, modifiedAt }) => ({
          key,
          version: etag,
          uploadedAt: modifiedAt,
          // Objects appear only when they are complete.
          isComplete: true,
        }));
      if (archives.length > 0) yield archives;
      token = page.nextToken;
    } while (token !== "");
  }

  /** Downloads the archive at each reading: most are small, and no temporary files are needed. */
  open({ key, version }: StoredArchive): ArchiveSource {
    const bucket = this.#bucket;
    return {
      name: key,
      async *open() {
        yield* await bucket.get(key, version);
      },
    };
  }
}
