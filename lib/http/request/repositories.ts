/** The parameters `repository` and `repository_id`: what they select, and what was found. */
import type { RepositoryVersion, Selection } from "../../../db/read/caller.ts";
import { caseKey } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import type { ParameterErrors } from "./errors.ts";
import type { RawParameters } from "./route.ts";

/** A repository by name, or by owner and name, in the form in which names compare. */
interface NameKeys {
  ownerKey?: string;
  nameKey: string;
}

/** False for texts that PostgreSQL can neither store nor compare with. */
function canBeStored(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** Selects the repository of a path. */
export function selectRepository({ owner = "", name = "" }: RawParameters): Selection {
  if (!canBeStored(owner) || !canBeStored(name)) return { kind: "none" };
  return { kind: "repository", ownerKey: caseKey(owner), nameKey: caseKey(name) };
}

/** Selects the repositories of the parameters; invalid ones select nothing. */
export function selectByParameters(
  raw: RawParameters,
  { required }: { required: boolean },
): Selection {
  if (raw.repository === undefined && raw.repository_id === undefined) {
    return { kind: required ? "none" : "all" };
  }
  const names = raw.repository === undefined ? null : nameKeys(raw.repository);
  const repositoryId = raw.repository_id === undefined ? null : identifier(raw.repository_id);
  if (names === null && repositoryId === null) return { kind: "none" };
  return { kind: "named", ...names, ...(repositoryId !== null && { repositoryId }) };
}

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
    : found.filter(({ repositoryId }) => repositoryId === identifier(raw.repository_id ?? ""));
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

/** Splits at the last slash: an owner may contain slashes. */
function nameKeys(text: string): NameKeys | null {
  if (text === "" || !canBeStored(text)) return null;
  const slash = text.lastIndexOf("/");
  const nameKey = caseKey(text.slice(slash + 1));
  return slash < 0 ? { nameKey } : { ownerKey: caseKey(text.slice(0, slash)), nameKey };
}

/** `null` when no repository can have the number. */
function identifier(text: string): number | null {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  return number > 0 && Number.isSafeInteger(number) ? number : null;
}
