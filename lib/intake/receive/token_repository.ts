// Tests: tests/lib/intake/receive/upload_app_test.ts
/** Tokens that are for one repository. */
import type { Uploader } from "../../../db/read/caller.ts";
import {
  formatRepositoryName,
  isSameRepository,
  type RepositoryName,
} from "../../base/repository_name.ts";
import { forbidden } from "../../http/request/errors.ts";

/** The token is for another repository than the upload names. */
export class WrongRepositoryError extends Error {
  constructor(readonly repository: string) {
    super("wrong repository");
  }
}

/** The repository of a token that is for one other than this; `null` when it may be used. */
export function otherRepository({ repository }: Uploader, repo: RepositoryName): string | null {
  return repository === null || isSameRepository(repository, repo)
    ? null
    : formatRepositoryName(repository);
}

/** The response to a token that is for another repository. */
export function wrongRepository(repository: string): Response {
  return forbidden(`this token is only for "${repository}"`);
}
