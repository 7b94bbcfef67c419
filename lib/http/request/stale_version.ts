import type { DataVersion } from "../../base/data_version.ts";

/**
 * The data changed between the first look at who asks for what, and the look at what is asked for:
 * what was seen is not what the entity tag names. Whoever catches it begins anew.
 */
export class MovedOnError extends Error {
  override name = "MovedOnError";

  constructor() {
    super("the data changed while a request was answered");
  }
}

/**
 * Makes sure that a statement saw the state of the data that the request is answered for.
 *
 * @throws {MovedOnError} when it saw another one, or the repository is gone (`seen` is `null`)
 */
export function checkUnmoved(
  asked: DataVersion,
  seen: DataVersion | null,
): asserts seen is DataVersion {
  if (asked.createdAt === seen?.createdAt && asked.dataVersion === seen.dataVersion) return;
  throw new MovedOnError();
}
