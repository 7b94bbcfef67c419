/**
 * What the identity token of a CI job says about its run. The CI service has signed it, so it takes
 * precedence over what the client says.
 */
import { valueOr } from "../base/error.ts";
import { isGitId } from "../base/commit.ts";
import { parseRepositoryName, type RepositoryName } from "../base/repository_name.ts";
import { branchOf } from "./git_ref.ts";
import { readGitUrl } from "./git_url.ts";
import { MERGE_QUEUE } from "./merge_queue.ts";
import { shorten } from "./mod.ts";
import type { CiVariables, DecisiveFact } from "./variables.ts";

/** The claims of a token: JSON of its issuer. */
export type Claims = Readonly<Record<string, unknown>>;

/** The run that claims describe; `undefined`: what the client says counts. */
export interface ClaimedRun {
  repository: RepositoryName;
  commit?: string | undefined;
  /** `""` when the run is of no branch. */
  branch?: string | undefined;
  /** The branch of a pull request, whose owner the client may name in addition: `owner:branch`. */
  pullBranch: string;
  /** What the variables of the job of a pull request say, for a client that sends none; empty for another run. */
  pullVariables: CiVariables;
  /** The branches at which a run about a pull request or another run is never stored. */
  baseBranches: string[];
  /** One of these numbers is in the URL of the build, if any is claimed. */
  runs: string[];
  /** The URL of the build, `""` when only the client knows it. */
  buildUrl: string;
  attempt?: string | undefined;
  /** The workflow, for a client that names none; `""` when unknown. */
  workflow?: string;
  /** What the variables of the client do not decide: it could make the run one of the base branch. */
  notOfClient: readonly DecisiveFact[];
}

const MAX_CHARACTERS = 2_000;

/** What these events run at is the default branch, whatever they test. */
const EVENTS_OF_BASE = ["workflow_run", "issue_comment", "pull_request_target"];

/**
 * The run of a job, by the claims of GitHub, otherwise by those of GitLab, otherwise only the repository: of the
 * claim that `repositoryClaim` names; without such a name, the only one that is trusted. `null` when nothing
 * names a repository.
 */
export function claimedRun(
  claims: Claims,
  { repositoryClaim, repository }: {
    repositoryClaim: string | null;
    repository: RepositoryName | null;
  },
): ClaimedRun | null {
  const text = (name: string) => textOf(claims[name]);
  const named = repositoryClaim === null
    ? text("repository") || text("project_path")
    : repositoryIn(text(repositoryClaim));
  // A build of a fork may lack the claim: without it, it is not of the only repository that is trusted.
  const found = named === "" && repositoryClaim === null
    ? repository
    : valueOr(() => parseRepositoryName(named), null);
  if (!found) return null;
  if (text("repository") !== "") return { repository: found, ...runOfGitHub(text) };
  if (text("project_path") !== "") return { repository: found, ...runOfGitLab(text) };
  return {
    repository: found,
    pullBranch: "",
    pullVariables: {},
    baseBranches: [],
    runs: [],
    buildUrl: "",
    notOfClient: [],
  };
}

type Run = Omit<ClaimedRun, "repository">;

/** https://docs.github.com/en/actions/reference/security/oidc; Gitea and Forgejo have the same claims. */
function runOfGitHub(text: (name: string) => string): Run {
  const [ref, head, base] = [text("ref"), text("head_ref"), text("base_ref")];
  const isOfBase = EVENTS_OF_BASE.includes(text("event_name"));
  const isPull = ref.startsWith("refs/pull/");
  const server = serverOfGitHub(text("iss"));
  const id = text("run_id");
  return {
    commit: isOfBase ? undefined : gitId(text("sha")),
    // A branch with the name of its base is a fork's.
    branch: isOfBase ? undefined : isPull ? (head === base ? "" : head) : branchOf(ref),
    pullBranch: isOfBase || !isPull ? "" : head,
    pullVariables: isOfBase || !isPull ? {} : {
      GITHUB_ACTIONS: "true",
      GITHUB_REPOSITORY: text("repository"),
      GITHUB_SHA: text("sha"),
      GITHUB_REF: ref,
      GITHUB_HEAD_REF: head,
      GITHUB_BASE_REF: base,
    },
    baseBranches: isOfBase ? [branchOf(ref), base].filter((name) => name !== "") : [],
    // The pages of Gitea and Forgejo count the runs of a repository.
    runs: [id, server === "" ? text("run_number") : ""].filter((run) => run !== ""),
    buildUrl: server && id && `${server}/${text("repository")}/actions/runs/${id}`,
    attempt: number(text("run_attempt")),
    // In workflow_run another workflow has tested.
    workflow: text("event_name") === "workflow_run" ? "" : shorten(text("workflow")),
    notOfClient: isOfBase ? ["queueBase", "defaultBranch"] : ["queueBase"],
  };
}

/** https://docs.gitlab.com/ci/secrets/id_token_authentication/ */
function runOfGitLab(text: (name: string) => string): Run {
  const isTag = text("ref_type") === "tag";
  const isPull = text("ref_path").startsWith("refs/merge-requests/") ||
    text("pipeline_source") === "merge_request_event";
  const pipeline = text("pipeline_id");
  return {
    commit: gitId(text("sha")),
    branch: isTag ? "" : text("ref"),
    pullBranch: isPull ? text("ref") : "",
    pullVariables: !isPull ? {} : {
      GITLAB_CI: "true",
      CI_PROJECT_PATH: text("project_path"),
      CI_COMMIT_SHA: text("sha"),
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: text("ref"),
      CI_MERGE_REQUEST_IID: /^refs\/merge-requests\/(\d+)\//.exec(text("ref_path"))?.[1],
    },
    baseBranches: [],
    runs: pipeline === "" ? [] : [pipeline],
    buildUrl: pipeline && `${text("iss")}/${text("project_path")}/-/pipelines/${pipeline}`,
    notOfClient: /^refs\/merge-requests\/\d+\/train$/.test(text("ref_path")) ? [] : ["queueBase"],
  };
}

/** The server whose pages show the runs: GitHub's, `""` for another issuer. */
function serverOfGitHub(issuer: string): string {
  const url = URL.parse(issuer);
  if (url?.hostname === "token.actions.githubusercontent.com") return "https://github.com";
  const [, subdomain] = /^token\.actions\.([^.]+\.ghe\.com)$/.exec(url?.hostname ?? "") ?? [];
  if (subdomain !== undefined) return `https://${subdomain}`;
  return url && /^\/_services\/token(?:\/|$)/.test(url.pathname) ? url.origin : "";
}

/** The branch of a run, of what the client says and the claims; whatever contradicts them is not believed. */
export function claimedBranch(
  { branch, pullBranch, baseBranches }: ClaimedRun,
  given: string,
): string {
  if (branch === undefined) {
    // What a merge queue tests counts for its base branch.
    const isOfQueue = baseBranches.length > 0 && given.startsWith(MERGE_QUEUE);
    return isOfQueue || baseBranches.includes(given) ? "" : given;
  }
  return pullBranch !== "" && given.endsWith(`:${pullBranch}`) ? given : branch;
}

/** The URL of a build, of what the client says and the claims. */
export function claimedBuildUrl({ runs, buildUrl }: ClaimedRun, given: string): string {
  if (runs.length === 0) return given;
  // As a number of its own: 12 is not in 123.
  const isOfRun = runs.some((run) => given.split(/[^0-9A-Za-z]+/).includes(run));
  return isOfRun ? given : buildUrl;
}

/** Whether a claim has a value: a text, a number or a boolean as JSON writes it. */
export function hasClaim(claims: Claims, name: string, value: string): boolean {
  return value !== "" && Object.hasOwn(claims, name) && textOf(claims[name]) === value;
}

/** `""` for what no value of a run is: a list, an object, more than a line. */
function textOf(value: unknown): string {
  if (!["string", "number", "boolean"].includes(typeof value)) return "";
  const text = String(value);
  return /\p{Cc}/u.test(text) || text.length > MAX_CHARACTERS ? "" : text;
}

/** `OWNER/NAME` of a claim that may also be an address, or `github.com/acme/shop` as at CircleCI. */
function repositoryIn(text: string): string {
  const address = /^[a-z0-9-]+(\.[a-z0-9-]+)+\/[^/]+\/./i.test(text) ? `https://${text}` : text;
  return readGitUrl(address).repository || text;
}

function gitId(text: string): string | undefined {
  return isGitId(text) ? text.toLowerCase() : undefined;
}

function number(text: string): string | undefined {
  return /^[1-9]\d{0,8}$/.test(text) ? text : undefined;
}
