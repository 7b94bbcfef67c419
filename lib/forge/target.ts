/** Which pull request a CI job belongs to, from its environment. */
import { type Environment, setting } from "../base/config.ts";
import { Failure } from "../base/failure.ts";
import type { CiJob } from "../ci/mod.ts";
import type { PullComments, WaitToRetry } from "./forge.ts";
import { findPull, gitHubAccess, gitHubComments } from "./github.ts";
import { gitLabAccess, gitLabNotes } from "./gitlab.ts";

/** Forges without support for comments. */
const UNSUPPORTED = ["Bitbucket", "Azure Repos"];

/** Where to comment; `null` when the run belongs to no pull request. */
interface CommentTarget {
  comments: PullComments;
  /** Names the place in messages, such as `acme/shop#12`. */
  place: string;
}

/**
 * The pull request that a run belongs to.
 *
 * @param options.run the CI job; `null` outside of CI
 * @param options.repository `OWNER/NAME`
 * @param options.pull number; by default from the CI job
 * @returns `null` for a run without one
 * @throws {Failure} when a token is missing or an address is invalid
 * @throws {ForgeError} when the pull request has to be looked up, and that fails
 */
export async function findTarget(
  { environment, run, repository, pull, wait, ...bounds }: {
    environment: Environment;
    run: CiJob | null;
    repository: string;
    pull: number | undefined;
    wait: WaitToRetry;
    stop: AbortSignal;
    leftMs(): number;
  },
): Promise<CommentTarget | null> {
  const gitLabToken = setting(environment, "GITLAB_TOKEN").trim();
  const gitHubToken = setting(environment, "GITHUB_TOKEN").trim();
  const apiToken = setting(environment, "PLATFORM_API_TOKEN").trim();
  const secretsWith = (token: string) => [apiToken, token].filter((secret) => secret !== "");
  const isGitLab = run?.forge === "GitLab" || gitHubToken === "" && gitLabToken !== "";
  if (isGitLab) {
    const number = pull ?? numberIn(run?.pullNumber ?? "");
    if (number === null) return null;
    const apiUrl = baseAddress(environment, "CI_API_V4_URL");
    const token = checkToken("GITLAB_TOKEN", gitLabToken);
    const access = gitLabAccess({ apiUrl, token, ...bounds });
    const project = run?.projectId || repository;
    const comments = gitLabNotes(access, {
      project,
      pull: number,
      secrets: secretsWith(gitLabToken),
    });
    return { comments, place: `${repository}!${number}` };
  }
  if (gitHubToken === "" && UNSUPPORTED.includes(run?.forge ?? "")) {
    throw new Failure(
      `comments on ${run?.forge} are not supported: only on GitHub, GitLab, Gitea and Forgejo; ` +
        "`comment --dry-run` prints the text",
    );
  }
  const given = pull ?? (run?.searchesPull ? null : numberIn(run?.pullNumber ?? ""));
  const head = run?.searchesPull ? headOf(run) : null;
  if (given === null && head === null) return null;
  const apiUrl = baseAddress(environment, "GITHUB_API_URL");
  const token = checkToken("GITHUB_TOKEN", gitHubToken);
  const access = gitHubAccess({ apiUrl, token, ...bounds });
  const number = given ?? await findPull(access, { repository, ...head!, wait });
  if (number === null) return null;
  const comments = gitHubComments(access, {
    repository,
    pull: number,
    secrets: secretsWith(gitHubToken),
  });
  return { comments, place: `${repository}#${number}` };
}

/** The commit of a run that was not started for a pull request, and its branch as `owner:branch`. */
function headOf(run: CiJob | null): { head: string; commit: string } | null {
  if (!run || run.branch === "" || run.commit === "") return null;
  const { branch, commit, repository } = run;
  const owner = repository.split("/")[0];
  return { head: branch.includes(":") ? branch : `${owner}:${branch}`, commit };
}

function numberIn(text: string): number | null {
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}

function checkToken(name: "GITHUB_TOKEN" | "GITLAB_TOKEN", token: string): string {
  // A header takes no other characters. Never quoted.
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  const problem = token === "" ? "is missing" : "has characters that no token has";
  throw new Failure(`${name} ${problem}: expected a token that may comment on pull requests`);
}

function baseAddress(environment: Environment, name: "GITHUB_API_URL" | "CI_API_V4_URL"): string {
  const url = URL.parse(setting(environment, name).trim());
  const isPlain = url && [url.username, url.password, url.search, url.hash].join("") === "";
  if (!isPlain || !/^https?:$/.test(url.protocol)) {
    throw new Failure(`${name} is not an address: expected http(s)://HOST, optionally with a path`);
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}
