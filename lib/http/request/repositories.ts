/** The parameters `repository` and `repository_id`: what they look for, and what they found. */
import type { RepositoryVersion, Selection } from "../../../db/read/caller.ts";
import { caseKey } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import type { ParameterErrors } from "./errors.ts";
import type { RawParameters } from "./route.ts";

/** A repository by a bare name, or by owner and name, as they are compared. */
interface NameKeys {
  ownerKey?: string;
  nameKey: string;
}

/** False for texts that no database holds, and that PostgreSQL refuses to compare with. */
function canBeStored(text: string): boolean {
  return !text.includes("\0") && text.isWellFormed();
}

/** What a path's owner and name look for. */
export function selectRepository({ owner = "", name = "" }: RawParameters): Selection {
  if (!canBeStored(owner) || !canBeStored(name)) return { kind: "none" };
  return { kind: "repository", ownerKey: caseKey(owner), nameKey: caseKey(name) };
}

/** What the parameters look for; those that are wrong look for nothing. */
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

/** What is wrong with the parameters in view of what they found, and whether they found anything. */
export function checkFound(
  raw: RawParameters,
  found: readonly RepositoryVersion[],
): { errors: ParameterErrors; isMissing: boolean } {
  const errors: ParameterErrors = {};
  const byName = raw.repository === undefined ? null : found.filter(isNamed(raw.repository));
  const byId = raw.repository_id === undefined
    ? null
    : found.filter(({ repositoryId }) => repositoryId === identifier(raw.repository_id ?? ""));
  if (byName && byName.length > 1) {
    errors.repository = [
      `${quote(raw.repository ?? "")} fits ${byName.length} repositories: expected owner/name`,
    ];
  }
  const [identified] = byId ?? [];
  if (byName && byName.length > 0 && identified && !byName.includes(identified)) {
    errors.repository_id = [
      `${quote(raw.repository_id ?? "")} is another repository than ${
        quote(raw.repository ?? "")
      }` +
      ": expected both to name the same, or only one of them",
    ];
  }
  return { errors, isMissing: byName?.length === 0 || byId?.length === 0 };
}

function isNamed(text: string): (repository: RepositoryVersion) => boolean {
  const wanted = nameKeys(text);
  return ({ ownerKey, nameKey }) =>
    wanted !== null && wanted.nameKey === nameKey && (wanted.ownerKey ?? ownerKey) === ownerKey;
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
