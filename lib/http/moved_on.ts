import type { SeenVersion } from "../../db/repositories.ts";

/**
 * The data changed between the first look at who asks for what, and the look at what is asked for:
 * what was seen is not what the entity tag names. Whoever catches it begins anew.
 */
export class MovedOnError extends Error {
  override name = "MovedOnError";
}

/**
 * Makes sure that a statement saw the state of the data that the request is answered for.
 *
 * @throws {MovedOnError} when it saw another one, or the repository is gone (`seen` is `null`)
 */
export function checkUnmoved(asked: SeenVersion, seen: SeenVersion | null): void {
  if (asked.createdAt === seen?.createdAt && asked.dataVersion === seen.dataVersion) return;
  throw new MovedOnError("the data changed while a request was answered");
}
