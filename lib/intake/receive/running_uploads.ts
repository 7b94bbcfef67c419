// Tests: tests/lib/intake/receive/upload_app_test.ts
/** Limits the uploads that run at the same time, in number and in bytes. */
import type { Uploader } from "../../../db/read/caller.ts";

/** What the running uploads of one token or organization may be. */
export interface UploadQuota {
  uploads: number;
  /** Bytes of their bodies. An upload alone may have more. */
  bytes: number;
}

/** A token or an organization has too many uploads running. */
export class UploadQuotaError extends Error {
  override name = "UploadQuotaError";
}

export interface RunningUpload {
  /** Counts bytes that arrived. @throws {UploadQuotaError} */
  addBytes(count: number): void;
  end(): void;
}

interface Quotas {
  token: UploadQuota;
  organization: UploadQuota;
}

const SCOPES = ["token", "organization"] as const;

/** The settings, for messages. */
const SETTINGS = {
  token: { uploads: "MAX_TOKEN_UPLOADS", bytes: "MAX_TOKEN_UPLOAD_MB" },
  organization: { uploads: "MAX_ORGANIZATION_UPLOADS", bytes: "MAX_ORGANIZATION_UPLOAD_MB" },
};

/** The running uploads, so that one token cannot occupy all places. */
export class RunningUploads {
  /** What is running for each token and organization, while there is anything. */
  readonly #running = new Map<string, UploadQuota>();
  #count = 0;

  constructor(private readonly quotas: Quotas) {}

  /** Running uploads of all tokens. */
  get count(): number {
    return this.#count;
  }

  /** Counts an upload as running until its `end`. @throws {UploadQuotaError} */
  begin({ id, organizationId }: Uploader): RunningUpload {
    const keys = { token: id, organization: `organization ${organizationId}` };
    for (const scope of SCOPES) {
      const { uploads = 0 } = this.#running.get(keys[scope]) ?? {};
      if (uploads < this.quotas[scope].uploads) continue;
      throw new UploadQuotaError(
        `${uploads} uploads of this ${scope} are running: repeat this one later, or raise ` +
          SETTINGS[scope].uploads,
      );
    }
    let ownBytes = 0;
    const shared = SCOPES.map((scope) => {
      const running = this.#running.get(keys[scope]) ?? { uploads: 0, bytes: 0 };
      this.#running.set(keys[scope], running);
      running.uploads++;
      return { scope, running };
    });
    this.#count++;
    return {
      addBytes: (count) => {
        ownBytes += count;
        for (const { running } of shared) running.bytes += count;
        for (const { scope, running } of shared) {
          const { bytes } = this.quotas[scope];
          if (running.bytes <= bytes || running.bytes === ownBytes) continue;
          throw new UploadQuotaError(
            `the running uploads of this ${scope} have more than ${bytes} bytes: repeat this one ` +
              `later, or raise ${SETTINGS[scope].bytes}`,
          );
        }
      },
      end: () => {
        this.#count--;
        for (const { scope, running } of shared) {
          running.bytes -= ownBytes;
          if (--running.uploads === 0) this.#running.delete(keys[scope]);
        }
      },
    };
  }
}
