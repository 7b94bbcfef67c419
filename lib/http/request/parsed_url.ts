/**
 * What the URL of a request names: its route, its parameters as they were sent, and the repositories
 * or the test that they select.
 */
import { IttyRouter } from "itty-router";
import type { NamedSelection, RepositoryVersion, Selection } from "../../../db/read/caller.ts";
import { caseKey, isObjectId, parseTestId } from "../../base/identity.ts";
import { quote } from "../../base/quote.ts";
import type { ParameterErrors } from "./errors.ts";
import type { ListFormat } from "./list_format.ts";
import type { RawParameters } from "./parameters.ts";
import type { Endpoint } from "./route.ts";

/** A parsed URL; its query parameters are not validated yet. */
export interface ParsedUrl {
  /** `null` for an unknown path. */
  route: Endpoint | null;
  /** What the path says about the format of a list; `null` when it says nothing. */
  format: ListFormat | null;
  /** Leads from the path to the root of the service. */
  root: string;
  /** The query parameters that the route knows. */
  parameters: RawParameters;
  /** The query parameter `token`, on routes that accept a badge token. */
  badgeToken: string | null;
  /** What is looked up together with the token. */
  selection: Selection;
}

export function createUrlParser(routes: readonly Endpoint[]): (url: string) => ParsedUrl {
  const router = IttyRouter();
  for (const route of routes) router.all(route.path, () => route);
  const patterns = router.routes.map(([, pattern], index) => ({ pattern, route: routes[index]! }));

  return (url) => {
    const { path, search } = splitUrl(url);
    const root = "../".repeat(Math.max(0, path.split("/").length - 2));
    const list = formatOfPath(path);
    for (const { route, pattern } of patterns) {
      // The path of a list with its format is nothing else.
      const listMatch = list && route.list ? pattern.exec(list.path) : null;
      const match = listMatch ?? pattern.exec(path);
      // The router tolerates any number of trailing slashes, the API one.
      const variables = match && !path.endsWith("//") && decode(match.groups ?? {});
      if (!variables) continue;
      const format = listMatch && list!.format;
      const parameters = rawParameters(search, route);
      // It selects no repositories, but belongs to the key of the response.
      if (route.resource === "owner") parameters.owner = variables.owner!.replace(/(?<=.)\/$/, "");
      const badgeToken = route.access === "token or badge token"
        ? new URLSearchParams(search).get("token")
        : null;
      const selection = select(route, variables, parameters);
      return { route, format, root, parameters, badgeToken, selection };
    }
    return { ...UNKNOWN, root };
  };
}

/** Splits a URL by hand: a client's `Host` header may make it invalid for `URL`. No path is `//`. */
export function splitUrl(url: string): { path: string; search: string } {
  const [, path = "//", search = ""] = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i.exec(url) ?? [];
  return { path, search };
}

/** Splits `.csv` or `.ndjson` from the end of a path; one slash may follow. */
export function formatOfPath(path: string): { path: string; format: ListFormat } | null {
  const [, list, format] = /^(.*[^/])\.(csv|ndjson)\/?$/.exec(path) ?? [];
  return list === undefined ? null : { path: list, format: format as ListFormat };
}

/** Decodes the variable parts of a path; `null` when one is not percent-encoded UTF-8: a 404. */
function decode(encoded: Record<string, string>): RawParameters | null {
  // The database refuses an unpaired surrogate, which is not encoded.
  if (!Object.values(encoded).every((value) => value.isWellFormed())) return null;
  try {
    return Object.fromEntries(
      Object.entries(encoded).map(([name, value]) => [name, decodeURIComponent(value)]),
    );
  } catch {
    return null;
  }
}

/**
 * The known parameters: the first value of each, but all of `include`, which is a list. A form sends empty
 * values for empty fields.
 */
function rawParameters(text: string, { query, isPage }: Endpoint): Record<string, string> {
  const raw: Record<string, string> = {};
  if (text === "") return raw;
  const search = new URLSearchParams(text);
  for (const name of Object.keys(query.entries)) {
    const value = name === "include" && search.has(name)
      ? search.getAll(name).join()
      : search.get(name);
    if (value !== null && !(isPage && value === "")) raw[name] = value;
  }
  return raw;
}

const NOTHING: Selection = { kind: "none" };

const UNKNOWN = {
  route: null,
  format: null,
  parameters: {},
  badgeToken: null,
  selection: NOTHING,
};

function select(
  { resource }: Endpoint,
  { owner = "", name = "", id = "" }: RawParameters,
  parameters: RawParameters,
): Selection {
  // PostgreSQL stores no NUL.
  if ((owner + name).includes("\0")) return NOTHING;
  const [ownerKey, nameKey] = [caseKey(owner), caseKey(name)];
  switch (resource) {
    case undefined:
      return NOTHING;
    case "organization":
      return { kind: "organization" };
    case "repository in path":
      return { kind: "named", ownerKey, nameKey };
    case "repositories by name in path":
      return { kind: "named", nameKey };
    case "submission in path":
      if (!isObjectId(id)) return NOTHING;
      return { kind: "submission", ownerKey, nameKey, submissionId: id.toLowerCase() };
    case "test in path": {
      const parts = parseTestId(id);
      return parts ? { kind: "test", ...parts } : NOTHING;
    }
    default:
      return selectByParameters(parameters, { isRequired: resource === "repository in query" });
  }
}

/** Selects by `repository` and `repository_id`; invalid ones select nothing. */
function selectByParameters(
  { repository, repository_id: id }: RawParameters,
  { isRequired }: { isRequired: boolean },
): Selection {
  if (repository === undefined && id === undefined) return isRequired ? NOTHING : { kind: "all" };
  const names = nameKeys(repository ?? "");
  const repositoryNumber = /^\d+$/.test(id ?? "") ? Number(id) : 0;
  const isNumber = repositoryNumber > 0 && Number.isSafeInteger(repositoryNumber);
  if (!names && !isNumber) return NOTHING;
  return { kind: "named", ...names, ...(isNumber && { repositoryNumber }) };
}

/** Splits `name` or `owner/name` at the last slash: an owner may contain slashes. */
function nameKeys(text: string): { ownerKey?: string; nameKey: string } | null {
  if (text === "" || text.includes("\0")) return null;
  const slash = text.lastIndexOf("/");
  const nameKey = caseKey(text.slice(slash + 1));
  return slash < 0 ? { nameKey } : { ownerKey: caseKey(text.slice(0, slash)), nameKey };
}

/** What a request is about. */
interface FoundResource {
  repositories: RepositoryVersion[];
  errors: ParameterErrors;
  isMissing: boolean;
}

/** Whether the path names the resource: without it, the path leads to nothing. */
export function isInPath({ resource }: Endpoint): boolean {
  return resource?.endsWith("in path") === true;
}

/** Finds the resource of a request among the repositories that it selected. */
export function findResource(
  { route, parameters, selection }: Pick<ParsedUrl, "parameters" | "selection"> & {
    route: Endpoint;
  },
  { repositories }: { repositories: RepositoryVersion[] },
): FoundResource {
  if (!route.resource) return { repositories, errors: {}, isMissing: false };
  if (!isInPath(route)) return checkSelected({ parameters, selection }, repositories);
  const [first] = repositories;
  const isMissing = !first || selection.kind === "test" && first.testNo === null;
  return { repositories, errors: {}, isMissing };
}

/**
 * Compares `repository` and `repository_id` with the repositories that they selected. When a bare
 * name fits several repositories and the id belongs to one of them, the id decides.
 */
function checkSelected(
  { parameters, selection }: Pick<ParsedUrl, "parameters" | "selection">,
  found: RepositoryVersion[],
): FoundResource {
  const { repository: name, repository_id: id } = parameters;
  const { ownerKey, nameKey, repositoryNumber } = selection.kind === "named"
    ? selection
    : {} as Partial<NamedSelection>;
  const byName = found.filter((one) =>
    one.nameKey === nameKey && one.ownerKey === (ownerKey ?? one.ownerKey)
  );
  const byId = found.filter((one) => one.repositoryNumber === repositoryNumber);
  if (byId[0] && byName.includes(byId[0])) {
    return { errors: {}, isMissing: false, repositories: byId };
  }
  const errors: ParameterErrors = {};
  const quoted = quote(name ?? "");
  if (byName.length > 1) {
    errors.repository = [`${quoted} fits ${byName.length} repositories: expected owner/name`];
  }
  if (byName.length > 0 && byId.length > 0) {
    const expected = "expected the same repository, or only one of the parameters";
    errors.repository_id = [`${quote(id ?? "")} is not the id of ${quoted}: ${expected}`];
  }
  const isMissing = (name !== undefined && byName.length === 0) ||
    (id !== undefined && byId.length === 0);
  return { errors, isMissing, repositories: found };
}
