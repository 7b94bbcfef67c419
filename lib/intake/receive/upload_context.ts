// Tests: tests/lib/intake/receive/upload_app_test.ts
import type { Database } from "../../../db/connection/connect.ts";
import type { Context } from "../../http/request/context.ts";
import type { Acceptance } from "./accept_upload.ts";
import type { BodyLimits } from "./receive_body.ts";
import type { UploadQuota } from "./running_uploads.ts";

/** What the routes of `receive` work with. */
export interface UploadContext
  extends Pick<Context, "sql" | "log" | "metrics" | "trustedProxies" | "onTokenUse">, Acceptance {
  /** Whole seconds since 1970. */
  now(): number;
  /**
   * Connections for changes of quarantine, which are not read-only. They wait for the lock of their
   * repository: look-ups of tokens need others.
   */
  writableSql: Database["sql"];
  /** Address of the pages without a trailing slash; `""`: no links. */
  pagesUrl: string;
  /** Parent of a folder for each upload. */
  workFolder: string;
  limits: BodyLimits;
  /** The public address of this door, without a trailing slash: the audience of identity tokens. `""`: unknown. */
  publicUrl: string;
  /** Above it, the response is 503. */
  maxRunningUploads: number;
  /** Above it, the response is 429. */
  quotas: Record<"token" | "organization", UploadQuota>;
}
