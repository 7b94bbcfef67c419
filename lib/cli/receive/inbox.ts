/** The destination of received archives: a folder or a bucket. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Environment } from "../../base/config.ts";
import { moveDurably } from "../storage/folder.ts";
import { S3Bucket, type StoredFile } from "../storage/s3_client.ts";
import { parseS3Url, readS3Settings } from "../storage/s3_settings.ts";

/** Stores archives for `watch`. */
export interface Inbox {
  /** Parent of the folders for unfinished files: on the file system of the folder. */
  unfinished: string;
  /**
   * Stores a finished file durably; the file may be moved.
   *
   * @returns its key in `watch`
   */
  put(file: StoredFile, name: string): Promise<string>;
}

/**
 * Parses `--to`: a folder or `s3://BUCKET/PREFIX`.
 *
 * @throws {UsageError} when it is something else, or credentials are missing
 */
export function openInbox(to: string, environment: Environment): Inbox {
  const location = parseS3Url(to, "--to");
  if (location) {
    const { bucket, prefix } = location;
    const s3 = new S3Bucket(bucket, readS3Settings(environment));
    return {
      unfinished: join(tmpdir(), `test-analytics-receive-${Deno.uid() ?? 0}`),
      async put(file, name) {
        await s3.put(`${prefix}${name}`, file);
        return `${prefix}${name}`;
      },
    };
  }
  return {
    // `watch` ignores hidden folders.
    unfinished: join(to, ".unfinished"),
    async put({ path }, name) {
      await moveDurably(path, to, name);
      return name;
    },
  };
}
