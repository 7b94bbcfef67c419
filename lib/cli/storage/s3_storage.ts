import type { ArchiveSource } from "../../report/archive/mod.ts";
import { S3Bucket, type S3Patience } from "./s3_client.ts";
import type { S3Location, S3Settings } from "./s3_settings.ts";
import {
  type ArchiveStorage,
  isArchiveName,
  isStorableKey,
  type StoredArchive,
} from "./storage.ts";

// Enough to find whoever makes them.
const MAX_NOTED_KEYS = 100;

/** A bucket, or the part of it below a prefix, that archives are put into. */
export class S3Storage implements ArchiveStorage {
  readonly name: string;
  #bucket: S3Bucket;
  #prefix: string;
  #note: (text: string) => void;
  #noted = new Set<string>();

  /** @param options.note told what is passed over, once */
  constructor(
    { bucket, prefix }: S3Location,
    settings: S3Settings,
    { note = () => {}, ...patience }: S3Patience & { note?(text: string): void } = {},
  ) {
    this.#bucket = new S3Bucket(bucket, settings, patience);
    this.#prefix = prefix;
    this.#note = note;
    const url = `s3://${bucket}/${prefix}`;
    // Buckets of two services may have the same name.
    this.name = settings.endpoint === "" ? url : `${url} at ${settings.endpoint}`;
  }

  async *list(): AsyncGenerator<StoredArchive[], void> {
    let token = "";
    do {
      const page = await this.#bucket.list(this.#prefix, token);
      const archives = page.objects.filter(({ key }) => isArchiveName(key) && this.#isStorable(key))
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

  #isStorable(key: string): boolean {
    if (isStorableKey(key)) return true;
    const name = JSON.stringify(key);
    if (!this.#noted.has(name) && this.#noted.size < MAX_NOTED_KEYS) {
      this.#noted.add(name);
      this.#note(
        `${name}: a key with NUL or half a character, which cannot be stored: passed over`,
      );
    }
    return false;
  }
}
