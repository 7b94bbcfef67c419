/** Addresses of commits, branches and pull requests, from the page of a repository. */
import { isGitId, shortCommit } from "../base/commit.ts";

/** What a forge appends to the address of a repository. */
interface Paths {
  commit: string;
  branch: string;
  pull: string;
  /** The changes from the commit `{from}` to the commit `{to}`. */
  compare: string;
}

const FORGES: readonly [isForge: RegExp, Paths][] = [
  [/^[^/]*gitlab|\/-\//, {
    commit: "/-/commit/",
    branch: "/-/tree/",
    pull: "/-/merge_requests/",
    compare: "/-/compare/{from}...{to}",
  }],
  [/^[^/]*bitbucket/, {
    commit: "/commits/",
    branch: "/branch/",
    pull: "/pull-requests/",
    compare: "/branches/compare/{to}%0D{from}",
  }],
  [/^(dev\.azure\.com|[^/]*visualstudio\.com)\/|\/_git\//, {
    commit: "/commit/",
    branch: "?version=GB",
    pull: "/pullrequest/",
    compare: "/branchCompare?baseVersion=GC{from}&targetVersion=GC{to}&_a=commits",
  }],
  [/^[^/]*(gitea|forgejo|codeberg)/, {
    commit: "/commit/",
    branch: "/src/branch/",
    pull: "/pulls/",
    compare: "/compare/{from}...{to}",
  }],
  // Also of other hosts: GitHub Enterprise, and commits of Gitea and older GitLab.
  [/^/, {
    commit: "/commit/",
    branch: "/tree/",
    pull: "/pull/",
    compare: "/compare/{from}...{to}",
  }],
];

/** What {@linkcode forgeOf} returns. */
interface ForgeLinks {
  /** `""` unless the commit is a git id. */
  commit(oid: string): string;
  branch(name: string): string;
  pullRequest(number: number): string;
  /** The changes from a commit to another; `""` unless both are git ids. */
  compare(from: string, to: string): string;
}

/** The addresses of a repository's forge; `null` unless its page is of http or https. */
export function forgeOf(url: string): ForgeLinks | null {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return null;
  const { protocol, host, pathname } = new URL(url);
  const path = pathname.replace(/\/+$/, "").replace(/\.git$/, "");
  const paths = FORGES.find(([isForge]) => isForge.test(host + path))![1];
  const address = (to: string, name: string) => `${protocol}//${host}${path}${to}${name}`;
  return {
    commit: (oid) => isGitId(oid) ? address(paths.commit, oid) : "",
    branch: (name) => address(paths.branch, name.split("/").map(encodeURIComponent).join("/")),
    pullRequest: (number) => address(paths.pull, String(number)),
    compare: (from, to) =>
      isGitId(from) && isGitId(to)
        ? address(paths.compare.replace("{from}", from).replace("{to}", to), "")
        : "",
  };
}

const PULL_REQUEST = /^(?:refs\/)?((?:pull|pulls|merge-requests|pull-requests)\/(\d{1,9}))(?:\/|$)/;

/** The number of the pull or merge request whose ref a branch is, such as `refs/pull/77/merge`. */
export function pullRequestOf(branch: string): number | null {
  const number = PULL_REQUEST.exec(branch)?.[2];
  return number === undefined ? null : Number(number);
}

/** A branch as pages show it: `pull/77` for the ref `refs/pull/77/merge`. */
export function shownBranch(branch: string): string {
  return PULL_REQUEST.exec(branch)?.[1] ?? branch;
}

export interface NamedBuild {
  branch: string | null;
  commitOid: string;
  buildUrl?: string;
  /** As CI said; `null` when it did not. */
  pullNumber?: number | null;
}

/** What distinguishes a build: branch or pull request, commit, and CI run, `main · 24d0c8b · #77`. */
export function buildName(build: NamedBuild): string {
  return buildNameParts(build).join("");
}

/** The name of a build: the branch, which may be long, and the rest. */
export function buildNameParts(
  { branch, commitOid, buildUrl = "", pullNumber = null }: NamedBuild,
): [first: string, rest: string] {
  const number = runNumberOf(buildUrl);
  const shown = shownBranch(branch ?? "");
  const pull = pullNumber === null || shown.endsWith(`/${pullNumber}`) ? "" : `pull/${pullNumber}`;
  const [first = "build", ...rest] = [
    shown,
    pull,
    shortCommit(commitOid),
    number === null ? "" : `#${number}`,
  ].filter((part) => part !== "");
  return [first, rest.map((part) => ` · ${part}`).join("")];
}

/** What names a CI run in a link to it: `ci.example, #77`; an address that is none as it is. */
export function runName(buildUrl: string): string {
  if (!URL.canParse(buildUrl)) return buildUrl;
  const number = runNumberOf(buildUrl);
  return `${new URL(buildUrl).host || buildUrl}${number === null ? "" : `, #${number}`}`;
}

/** The number of a CI run from its address; `null` for ids that say nothing to a reader, such as GitHub's. */
function runNumberOf(buildUrl: string): number | null {
  if (!URL.canParse(buildUrl)) return null;
  const number = new URL(buildUrl).pathname.split("/").findLast((part) => /^\d{1,7}$/.test(part));
  return number === undefined ? null : Number(number);
}
