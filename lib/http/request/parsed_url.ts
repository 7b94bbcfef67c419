/** What the URL of a request names: its route, the resource, and the parameters as they were sent. */
import { IttyRouter } from "itty-router";
import type { Selection } from "../../../db/read/caller.ts";
import { caseKey } from "../../base/identity.ts";
import type { Access, ParametersSchema, RawParameters, Route } from "./route.ts";

/** These are opened in a browser, where only Basic lets a person enter a token. */
const DOCUMENT_PATHS = /^\/(openapi\.yaml|docs|llms-full\.txt)\/?$/;

/** A parsed URL; its query parameters are not validated yet. */
export interface ParsedUrl {
  /** `null` for an unknown path. */
  route: Route | null;
  access: Access;
  /** The query parameters that the route knows. */
  parameters: RawParameters;
  /** The repositories to look up together with the token. */
  selection: Selection;
}

/** Creates a parser of URLs for a route table. */
export function createUrlParser(routes: readonly Route[]): (url: string) => ParsedUrl {
  const router = IttyRouter();
  for (const route of routes) router.all(route.path, () => route);
  const patterns = router.routes.map(([, pattern], index) => ({ pattern, route: routes[index]! }));

  return (url) => {
    const { path, search } = splitUrl(url);
    for (const { pattern, route } of patterns) {
      const match = pattern.exec(path);
      const variables = match && !path.endsWith("//") && decode(match.groups ?? {});
      if (variables) return parseFor(route, { variables, search });
    }
    const access = DOCUMENT_PATHS.test(path) ? "token or basic" : "token";
    return { route: null, access, parameters: {}, selection: { kind: "none" } };
  };
}

function parseFor(
  route: Route,
  { variables, search }: { variables: RawParameters; search: string },
): ParsedUrl {
  const { access, resource } = route;
  const parameters = rawParameters(new URLSearchParams(search), route.parameters.query);
  let selection: Selection = { kind: "none" };
  if (resource?.in === "path") selection = resource.select(variables);
  else if (resource?.in === "query") selection = selectByParameters(parameters, resource);
  return { route, access, parameters, selection };
}

/** Splits a URL by hand: a client's `Host` header may make it invalid for `URL`. */
function splitUrl(url: string): { path: string; search: string } {
  const [, path = "", search = ""] = /^[a-z]+:\/\/[^/?#]*([^?#]*)(\?[^#]*)?/i.exec(url) ?? [];
  return { path, search };
}

/** Decodes the variable parts of a path; `null` when one is not percent-encoded UTF-8: a 404. */
function decode(encoded: Record<string, string>): RawParameters | null {
  try {
    return Object.fromEntries(
      Object.entries(encoded).map(([name, value]) => [name, decodeURIComponent(value)]),
    );
  } catch {
    return null;
  }
}

/** The parameters that a schema has: the first value of each. */
function rawParameters(search: URLSearchParams, schema: ParametersSchema): RawParameters {
  const raw: Record<string, string> = {};
  for (const name of Object.keys(schema.entries)) {
    const value = search.get(name);
    if (value !== null) raw[name] = value;
  }
  return raw;
}

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
  return { kind: "named", ownerKey: caseKey(owner), nameKey: caseKey(name) };
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
  const repositoryNumber = raw.repository_id === undefined
    ? null
    : parseRepositoryId(raw.repository_id);
  if (names === null && repositoryNumber === null) return { kind: "none" };
  return { kind: "named", ...names, ...(repositoryNumber !== null && { repositoryNumber }) };
}

/** Splits `name` or `owner/name` at the last slash: an owner may contain slashes. */
export function nameKeys(text: string): NameKeys | null {
  if (text === "" || !canBeStored(text)) return null;
  const slash = text.lastIndexOf("/");
  const nameKey = caseKey(text.slice(slash + 1));
  return slash < 0 ? { nameKey } : { ownerKey: caseKey(text.slice(0, slash)), nameKey };
}

/** Parses `repository_id`; `null` when no repository can have it. */
export function parseRepositoryId(text: string): number | null {
  const number = /^\d+$/.test(text) ? Number(text) : 0;
  return number > 0 && Number.isSafeInteger(number) ? number : null;
}
