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

// Bounds the log.
const MAX_NOTED_KEYS = 100;

/** The archives in a bucket, below a prefix. */
export class S3Storage implements ArchiveStorage {
  readonly name: string;
  #bucket: S3Bucket;
  #prefix: string;
  #note: (text: string) => void;
  #noted = new Set<string>();

  /** @param options.note called once for each skipped key */
  constructor(
    { bucket, prefix }: S3Location,
    settings: S3Settings,
    { note = () => {}, ...options }: S3Options & { note?(text: string): void } = {},
  ) {
    this.#bucket = new S3Bucket(bucket, settings, options);
    this.#prefix = prefix;
    this.#note = note;
    const url = `s3://${bucket}/${prefix}`;
    // Two services may have buckets of the same name.
    this.name = settings.endpoint === "" ? url : `${url} at ${settings.endpoint}`;
  }

  async *list(): AsyncGenerator<StoredArchive[], void> {
    let token = "";
    const seen = new Set<string>();
    do {
      const page = await this.#bucket.list(this.#prefix, token);
      // A broken service may return the same page for ever.
      const first = page.objects[0]?.key ?? `after ${token}`;
      if (seen.has(`key ${first}`) || seen.has(page.nextToken)) {
        throw new StorageError(`${this.name}: the list repeats itself: check the endpoint`);
      }
      seen.add(`key ${first}`).add(page.nextToken);
      const archives = page.objects.filter(({ key }) => isArchiveName(key) && this.#isStorable(key))
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

  #isStorable(key: string): boolean {
    if (isStorableKey(key)) return true;
    const name = JSON.stringify(key);
    if (!this.#noted.has(name) && this.#noted.size < MAX_NOTED_KEYS) {
      this.#noted.add(name);
      this.#note(
        `${name}: skipped, the key contains NUL or an unpaired surrogate, which cannot be stored`,
      );
    }
    return false;
  }
}
