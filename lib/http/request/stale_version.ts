import type { DataVersion } from "../../base/data_version.ts";

/**
 * The data changed between the statement that authenticated a request and a later one, so that the
 * entity tag would not match the body. The dispatcher starts the request again.
 */
export class StaleVersionError extends Error {
  override name = "StaleVersionError";

  constructor() {
    super("the data changed during a request");
  }
}

/**
 * Makes sure that a statement read the version of the data that the request is answered for;
 * `null`: the repository is gone. @throws {StaleVersionError}
 */
export function checkVersion(
  expected: DataVersion,
  actual: DataVersion | null,
): asserts actual is DataVersion {
  if (expected.dataVersion !== actual?.dataVersion) throw new StaleVersionError();
}
