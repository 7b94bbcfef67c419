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
  const isOwn = decoded(path).toLowerCase().endsWith(`/${repository.toLowerCase()}`);
  return isOwn ? `${url.protocol}//${url.host}${path}` : "";
}

/** `""` for what cannot be decoded. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return "";
  }
}
