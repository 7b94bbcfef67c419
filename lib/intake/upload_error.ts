// Tests: tests/lib/intake/pack_upload_test.ts tests/lib/intake/receive/upload_app_test.ts
import type { ParameterErrors } from "../http/request/errors.ts";

/** The upload is rejected; messages by parameter or part. */
export class UploadError extends Error {
  override name = "UploadError";

  constructor(
    readonly status: 400 | 408 | 413,
    readonly errors: ParameterErrors,
  ) {
    super(Object.values(errors).flat().join("; "));
  }
}
