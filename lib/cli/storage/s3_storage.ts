import type { ArchiveSource } from "../../report/archive/mod.ts";
import { S3Bucket } from "./s3_client.ts";
import type { S3Location, S3Settings } from "./s3_settings.ts";
import { type ArchiveStorage, isArchiveName, type StoredArchive } from "./storage.ts";

/** A bucket, or the part of it below a prefix, that archives are put into. */
export class S3Storage implements ArchiveStorage {
  readonly name: string;
  #bucket: S3Bucket;
  #prefix: string;

  constructor({ bucket, prefix }: S3Location, settings: S3Settings) {
    this.#bucket = new S3Bucket(bucket, settings);
    this.#prefix = prefix;
    const url = `s3://${bucket}/${prefix}`;
    // Buckets of two services may have the same name.
    this.name = settings.endpoint === "" ? url : `${url} at ${settings.endpoint}`;
  }

  async *list(): AsyncGenerator<StoredArchive[], void> {
    let token = "";
    do {
      const page = await this.#bucket.list(this.#prefix, token);
      const archives = page.objects.filter(({ key }) => isArchiveName(key))
        .map(({ key, etag, modifiedAt }) => ({
          key,
          version: etag,
          uploadedAt: modifiedAt,
          // An object appears when it is whole.
          isComplete: true,
        }));
      if (archives.length > 0) yield archives;
      token = page.nextToken;
    } while (token !== "");
  }

  /** Read from the network each time: most archives are small, and nothing is left behind. */
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
