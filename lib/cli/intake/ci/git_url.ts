/**
 * `OWNER/NAME` from the URL of a git repository, else `""`. Handles
 * `https://user:token@host/owner/name.git`, `git@host:owner/name.git` and `ssh://git@host:22/...`.
 * Only the path is used, so that no credentials are stored.
 */
export function repositoryOfGitUrl(url: string): string {
  const path = /^[a-z][a-z0-9+.-]*:\/\/[^/]+\/(.+)$/i.exec(url)?.[1] ??
    /^[^/\s]+:(?!\/\/)(.+)$/.exec(url)?.[1] ?? "";
  const segments = path.split(/[?#]/)[0]!.replace(/\/+$/, "").replace(/\.git$/, "").split("/")
    .filter((segment) => segment !== "");
  // Azure Repos: project/_git/name. AWS CodeCommit: v1/repos/name, without an owner.
  const git = segments.indexOf("_git");
  if (git > 0 && git === segments.length - 2) return `${segments[git - 1]}/${segments[git + 1]}`;
  if (segments[0] === "v1" && segments[1] === "repos") return "";
  return segments.length < 2 ? "" : segments.join("/");
}
