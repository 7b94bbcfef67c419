import { valueOr } from "./error.ts";
import { caseKey } from "./identity.ts";

/** The name of a repository: an owner, which may contain slashes (GitLab groups), and a name. */
export interface RepositoryName {
  owner: string;
  name: string;
}

/** Writes `owner/name`. */
export function formatRepositoryName({ owner, name }: RepositoryName): string {
  return `${owner}/${name}`;
}

/** Whether two repositories are the same; one may be given as `owner/name`. */
export function isSameRepository(one: RepositoryName, other: RepositoryName | string): boolean {
  const name = typeof other === "string" ? other : formatRepositoryName(other);
  return caseKey(formatRepositoryName(one)) === caseKey(name);
}

/**
 * Splits `owner/name` at the last slash. @throws {SyntaxError} when a part is missing, is `.` or
 * `..`, begins or ends with white space, or contains a control character
 */
export function parseRepositoryName(text: string): RepositoryName {
  const parts = text.split("/");
  const isValid = (part: string) =>
    part !== "" && part !== "." && part !== ".." && part === part.trim() && !/\p{Cc}/u.test(part);
  if (parts.length < 2 || !parts.every(isValid)) {
    throw new SyntaxError(`invalid repository "${text}": expected OWNER/NAME, such as acme/shop`);
  }
  const name = parts.pop()!;
  return { owner: parts.join("/"), name };
}

/**
 * The address that leads to the page of a build, stored or not yet; `""` when nothing identifies it.
 *
 * @param pagesUrl without a trailing slash; `""` when unknown
 */
export function buildPage(
  pagesUrl: string,
  repository: string,
  { buildUrl, key = "" }: { buildUrl: string; key?: string },
): string {
  const [name, value] = buildUrl === "" ? ["key", key] : ["url", buildUrl];
  if (pagesUrl === "" || value === "") return "";
  return `${repositoryPage(pagesUrl, repository)}/build?${new URLSearchParams([[name!, value!]])}`;
}

/** The address of the page of a repository `owner/name`. @param pagesUrl without a trailing slash */
export function repositoryPage(pagesUrl: string, repository: string): string {
  const { owner, name } = parseRepositoryName(repository);
  return `${pagesUrl}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}`;
}

/** What follows the path of a repository in the address of a CI run, by the forge that runs it. */
const CI_PATHS = [
  // GitHub, Gitea and Forgejo.
  /^(.+?)\/actions\/runs\/\d+/,
  // GitLab.
  /^(.+?)\/-\/(?:pipelines|jobs)\/\d+/,
  // Bitbucket.
  /^(.+?)\/(?:addon\/)?pipelines\/(?:results\/\d+|home)/,
];

/**
 * The page of a repository, such as `https://github.com/acme/shop`, from the address of one of its CI
 * runs, if its forge runs them; otherwise `""`. A run of another repository, such as one that tests
 * several, says nothing about this one.
 *
 * @param repository as `owner/name`
 */
export function repositoryUrlFrom(buildUrl: string, repository: string): string {
  const url = URL.parse(buildUrl);
  if (!url || !/^https?:$/.test(url.protocol)) return "";
  const path = CI_PATHS.map((pattern) => pattern.exec(url.pathname)?.[1]).find(Boolean) ?? "";
  const decoded = valueOr(() => decodeURIComponent(path), "");
  const isOwn = decoded.toLowerCase().endsWith(`/${repository.toLowerCase()}`);
  return isOwn ? `${url.protocol}//${url.host}${path}` : "";
}
