/** The parameters `repository` and `repository_id` compared with the repositories found. */
import type { RepositoryVersion } from "../../../db/read/caller.ts";
import { quote } from "../../base/quote.ts";
import type { ParameterErrors } from "./errors.ts";
import { nameKeys, parseRepositoryId } from "./parsed_url.ts";
import type { RawParameters } from "./route.ts";

/**
 * Checks the parameters against the repositories that were found. When a bare name fits several
 * repositories and the id is that of one of them, the id decides.
 */
export function checkFound(
  raw: RawParameters,
  found: RepositoryVersion[],
): { errors: ParameterErrors; isMissing: boolean; repositories: RepositoryVersion[] } {
  const errors: ParameterErrors = {};
  const byName = raw.repository === undefined ? null : found.filter(isNamed(raw.repository));
  const byId = raw.repository_id === undefined
    ? null
    : found.filter(({ repositoryNumber }) =>
      repositoryNumber === parseRepositoryId(raw.repository_id ?? "")
    );
  const [identified] = byId ?? [];
  if (byName && identified && byName.includes(identified)) {
    return { errors, isMissing: false, repositories: [identified] };
  }
  if (byName && byName.length > 1) {
    errors.repository = [
      `${quote(raw.repository ?? "")} fits ${byName.length} repositories: expected owner/name`,
    ];
  }
  if (byName && byName.length > 0 && identified) {
    const [id, name] = [quote(raw.repository_id ?? ""), quote(raw.repository ?? "")];
    errors.repository_id = [
      `${id} is not the id of ${name}: expected the same repository, or only one of the parameters`,
    ];
  }
  const isMissing = byName?.length === 0 || byId?.length === 0;
  return { errors, isMissing, repositories: found };
}

function isNamed(text: string): (repository: RepositoryVersion) => boolean {
  const keys = nameKeys(text);
  return ({ ownerKey, nameKey }) =>
    keys !== null && keys.nameKey === nameKey && (keys.ownerKey ?? ownerKey) === ownerKey;
}
