/**
 * `OWNER/NAME` of a git repository and its page, such as `https://github.com/acme/shop`, from the URL of
 * either; `""` where they are unknown. Handles `https://user:token@host/owner/name.git`,
 * `git@host:owner/name.git` and `ssh://git@host:22/...`. User, password and the port of SSH are removed.
 */
export function readGitUrl(text: string): { repository: string; page: string } {
  const [, host, scpPath] = /^([^/\s:]{2,}):(?!\/\/)\/*(\S+)$/.exec(text) ?? [];
  const url = URL.parse(host ? `ssh://${host}/${scpPath}` : text);
  const path = url?.pathname.replace(/\/+$/, "").replace(/\.git$/, "") ?? "";
  const segments = path.split("/").slice(1);
  const isGit = /^(https?|ssh|git):$/.test(url?.protocol ?? "") && /^\S{1,2000}$/.test(text);
  // Azure Repos over SSH (v3/...) and AWS CodeCommit (v1/repos/name) name neither.
  if (!url || !isGit || segments.length < 2 || /^v\d$/.test(segments[0]!)) {
    return { repository: "", page: "" };
  }
  // Azure Repos: project/_git/name.
  const named = segments.at(-2) === "_git" ? segments.toSpliced(-2, 1).slice(-2) : segments;
  const isPage = url.protocol.startsWith("http");
  const origin = isPage ? `${url.protocol}//${url.host}` : `https://${url.hostname}`;
  return {
    repository: named.join("/"),
    // A host without a dot is an alias in the configuration of SSH.
    page: isPage || url.hostname.includes(".") ? origin + path : "",
  };
}
