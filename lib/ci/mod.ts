// Tests: tests/lib/ci/ci_test.ts tests/lib/ci/services_test.ts
/** What the variables of a CI job mean: repository, commit, branch, build URL and so on. */
import { valueOr } from "../base/error.ts";
import { isGitId } from "../base/commit.ts";
import { parseTimestamp } from "../base/time.ts";
import { branchNamed } from "./git_ref.ts";
import { readGitUrl } from "./git_url.ts";
import { mergeQueueOf } from "./merge_queue.ts";
import { readMatrix } from "./matrix.ts";
import { type Fact, type Service, SERVICES } from "./services.ts";
import { type CiVariables, namesOfFact } from "./variables.ts";

/** What the CI service or checkout says about a run; `""` means unknown. */
export interface DetectedRun {
  repository: string;
  /** Page of the repository, without credentials. */
  repositoryUrl: string;
  commit: string;
  /** Git tree of the commit. */
  tree: string;
  /** `owner:branch` for a fork. */
  branch: string;
  /** The branch that a merge queue tests for. */
  queueBase: string;
  /** Where the job runs, such as `Linux-X64`: what the results depend on in addition to the code. */
  environment: string;
  /** Name of the job, the same for all its shards. */
  job: string;
  /** Name of the workflow or pipeline that has the job. */
  workflow: string;
  /** Which of the job's shards, from 1: `2/4`. */
  shard: string;
  /** Which attempt of the job in its build, from 1. */
  attempt: string;
  runner: string;
  buildUrl: string;
  defaultBranch: string;
  /** Whether the job was started for a pull request, and not for a push to a branch that has one. */
  isOfPull: boolean;
  /** Number of the pull or merge request. */
  pullNumber: string;
  pullTitle: string;
  /** Name of the commit's author. */
  author: string;
  /** When the job began, in seconds since 1970; `null` when unknown. */
  startedAt: number | null;
}

/** The facts of a run that are stored and shown; `""` when unknown. */
export interface DetectedFacts {
  /** Whether it was started for a pull request: its branch is not the base branch, whatever its name. */
  isOfPull: boolean;
  /** `null` when there is no pull request. */
  pullNumber: number | null;
  pullTitle: string;
  author: string;
  queueBase: string;
  defaultBranch: string;
  /** Number of the job in its run, another one when it runs again; 0 when unknown. */
  jobNumber: number;
}

export interface CiJob extends DetectedRun {
  /** Such as `GitHub Actions`. */
  title: string;
  /** Whether the pull request of the branch has to be looked up. */
  searchesPull: boolean;
  /** Where the repository is, such as `GitLab`; `""` if the service does not say. */
  forge: string;
  /** Id of the repository there; `""` when unknown. */
  projectId: string;
  /** Name of the job with its shard and the values of its matrix; `""` where the service has no such name. */
  fullJob: string;
  /** The last commit of the pull request, where another one may be tested: its merge with the base. */
  pullHead: string;
  /** Numbers of the run and of the job in it, higher for later ones; 0 each when the run has none. */
  order: [run: number, job: number];
  /** What a person should know about it. */
  notes: string[];
}

/** A run of which nothing is known. */
export const UNKNOWN_RUN: DetectedRun = {
  repository: "",
  repositoryUrl: "",
  commit: "",
  tree: "",
  branch: "",
  queueBase: "",
  environment: "",
  job: "",
  workflow: "",
  shard: "",
  attempt: "",
  runner: "",
  buildUrl: "",
  defaultBranch: "",
  isOfPull: false,
  pullNumber: "",
  pullTitle: "",
  author: "",
  startedAt: null,
};

/** The maximum length of an environment, job or shard in characters (code points). */
export const MAX_NAME_CHARACTERS = 100;
const MAX_TITLE_CHARACTERS = 300;
/** A longer branch is the base of no queue. */
const MAX_BRANCH_CHARACTERS = 500;

/** Outside of a known service: what the checkout says. */
const NO_SERVICE: Service = {
  title: "",
  page: "",
  presence: ["HEAD_COMMIT", "HEAD_ORIGIN"],
  commit: [],
  branch: [],
  buildUrl: [],
};

/** The CI job or checkout that variables describe; `null` when they describe neither. */
export function readCi(variables: CiVariables): CiJob | null {
  const service = serviceOf(variables) ??
    (NO_SERVICE.presence.some((text) => isPresent(text, variables)) ? NO_SERVICE : null);
  if (!service) return null;
  const read = (fact: Fact = []) => valueOf(fact, variables);
  const fromUrl = readGitUrl(read(service.repositoryUrl));
  const checkout = checkoutOf(variables);
  const repository = read(service.repository) || fromUrl.repository || checkout.repository;
  const fork = forkOf(read(service.fork), repository);
  const code = testedCode(service, { repository, fork, variables });
  const defaultBranch = read(service.defaultBranch);
  const pullIn = (fact: Fact | undefined) => /(?:^|\/)([1-9]\d{0,9})$/.exec(read(fact))?.[1] ?? "";
  const pullNumber = pullIn(service.pullNumber);
  const matrix = readMatrix(variables.MATRIX ?? "");
  const isDefault = code.branch !== "" && code.branch === defaultBranch;
  // The branch that a pull request is for cannot be its own: the change is on a branch of a fork, which is not known.
  const isTarget = code.branch !== "" && code.branch === read(service.targetBranch);
  const attempt = /^[1-9]\d{0,8}$/.exec(read(service.attempt))?.[0] ?? "";
  const runNumber = countIn(read(service.runNumber));
  const branch = pullNumber !== "" && (isDefault || isTarget) ? "" : code.branch;
  return {
    title: service.title,
    searchesPull: read(service.searchesPull) !== "",
    forge: read(service.forge),
    projectId: read(service.projectId),
    fullJob: read(service.fullJob),
    pullHead: read(service.pullHead),
    order: runNumber === 0 ? [0, 0] : [runNumber, countIn(read(service.jobNumber) || attempt)],
    repository,
    repositoryUrl: fromUrl.page || checkout.page,
    ...code,
    branch,
    queueBase: shorten(read(service.queueBase), MAX_BRANCH_CHARACTERS) || mergeQueueOf(branch).base,
    environment: shorten([read(service.environment), matrix.values].join(" ").trim()),
    job: shorten(withoutShard(read(service.job))),
    workflow: shorten(read(service.workflow)),
    shard: shorten(read(service.shard) || matrix.shard),
    attempt,
    runner: shorten(read(service.runner)),
    buildUrl: read(service.buildUrl),
    defaultBranch,
    isOfPull: pullNumber !== "",
    pullNumber: pullNumber || (isDefault ? "" : pullIn(service.openPull)),
    pullTitle: shorten(read(service.pullTitle), MAX_TITLE_CHARACTERS),
    author: shorten(read(service.author).replace(/\s*<[^>]*>$/, "")),
    startedAt: readMoment(read(service.startedAt)),
  };
}

/** The pull request that a run tests: as CI says, else by the name of a branch of GitHub's merge queue. */
export function testedPull(detected: string, branch: string): number | null {
  const number = detected || mergeQueueOf(branch).pull;
  return /^[1-9]\d{0,9}$/.test(number) ? Number(number) : null;
}

/** What an upload stores of a run in addition to what its uploader may give. */
export function detectedFacts(
  run: CiJob | null,
  { branch, commit, isOwnRepository }: {
    branch: string;
    commit: string;
    /** Whether the upload is of the repository of the run. */
    isOwnRepository: boolean;
  },
): DetectedFacts {
  const known = isOwnRepository ? run ?? UNKNOWN_RUN : UNKNOWN_RUN;
  // It may be abbreviated.
  const isCommit = (other = "") =>
    isGitId(commit) && other.toLowerCase().startsWith(commit.toLowerCase());
  const isOwnCommit = isCommit(run?.commit);
  const isOwnBranch = branch === known.branch;
  return {
    // Another branch that is given does not take its commit out of the pull request.
    isOfPull: known.isOfPull && (isOwnBranch || isOwnCommit || isCommit(run?.pullHead)),
    pullNumber: testedPull(known.pullNumber, branch),
    pullTitle: known.pullTitle,
    author: isOwnCommit ? known.author : "",
    queueBase: isOwnBranch && known.queueBase || mergeQueueOf(branch).base,
    defaultBranch: known.defaultBranch,
    jobNumber: isOwnRepository && run ? run.order[1] : 0,
  };
}

/** Whether the variables were set by a job of a known service. */
export function isCiJob(variables: CiVariables): boolean {
  return serviceOf(variables) !== null;
}

/** The service of a job; `null` when it is of none that is known. */
export function serviceOf(variables: CiVariables): Service | null {
  return SERVICES.find(({ presence }) => presence.some((text) => isPresent(text, variables))) ??
    null;
}

function isPresent(text: string, variables: CiVariables): boolean {
  const [name = "", value] = text.split("=");
  const found = variables[name]?.trim() ?? "";
  return value === undefined ? !["", "false"].includes(found.toLowerCase()) : found === value;
}

function valueOf(fact: Fact, variables: CiVariables): string {
  const get = (name: string) => decoded(name, variables[name]?.trim() ?? "");
  if ("names" in fact) return fact.read(...fact.names.map(get)).trim();
  const text = fact.find((text) => namesOfFact([text]).every((name) => get(name) !== ""));
  return text?.replaceAll(/\$([A-Z][A-Z0-9_]*)/g, (_, name) => get(name)) ?? "";
}

/** Texts of an event are JSON. */
function decoded(name: string, value: string): string {
  if (!name.startsWith("EVENT_")) return value;
  try {
    const parsed = JSON.parse(value);
    return parsed === null ? "" : String(parsed).replaceAll(/\p{Cc}+/gu, " ").toWellFormed().trim();
  } catch {
    return value;
  }
}

function checkoutOf(variables: CiVariables) {
  const id = (name: string) => {
    const text = variables[name]?.trim().toLowerCase() ?? "";
    return isGitId(text) ? text : "";
  };
  return {
    commit: id("HEAD_COMMIT"),
    tree: id("HEAD_TREE"),
    folder: variables.HEAD_FOLDER?.trim() ?? "",
    ...readGitUrl(variables.HEAD_ORIGIN?.trim() ?? ""),
  };
}

/**
 * The commit that was tested, its tree and its branch: `HEAD` of the checkout, if it is of the repository
 * or of its fork; otherwise what the service names.
 */
function testedCode(
  service: Service,
  { repository, fork, variables }: {
    repository: string;
    fork: { owner: string; repository: string };
    variables: CiVariables;
  },
): { commit: string; tree: string; branch: string; notes: string[] } {
  const read = (fact: Fact = []) => valueOf(fact, variables);
  const commitIn = (fact: Fact | undefined) => {
    const text = read(fact).toLowerCase();
    return isGitId(text) ? text : "";
  };
  // A build that was started manually may say "HEAD".
  const named = commitIn(service.commit);
  const reported = commitIn(service.reportedCommit);
  const checkout = checkoutOf(variables);
  const isOurs = checkout.repository === ""
    ? liesIn(checkout.folder, read(service.folder))
    : isOf(checkout.repository, repository) || isOf(checkout.repository, fork.repository);
  const head = isOurs ? checkout.commit : "";
  const branch = (isOther: boolean) => {
    const text = branchNamed(
      read(isOther ? service.branchOfOtherCommit ?? service.branch : service.branch),
    );
    return text === "" || fork.owner === "" || text.startsWith(`${fork.owner}:`)
      ? text
      : `${fork.owner}:${text}`;
  };
  if (reported !== "") {
    const tree = head === reported ? checkout.tree : "";
    return { commit: reported, tree, branch: branch(false), notes: [] };
  }
  if (head === "") {
    const commit = commitIn(service.commitWithoutCheckout) || named;
    return { commit, tree: "", branch: branch(false), notes: [] };
  }
  const isOther = named !== "" && !head.startsWith(named);
  const note = `${service.title} names commit ${named}, but the checkout is at ${head}: the ` +
    "results are those of the checkout";
  return {
    commit: head,
    tree: checkout.tree,
    branch: branch(isOther),
    notes: isOther ? [note] : [],
  };
}

/** The owner of a fork and the fork, `""` each when a branch is the repository's own. */
function forkOf(text: string, repository: string): { owner: string; repository: string } {
  const fork = readGitUrl(text).repository || text;
  const ownerOf = (name: string) => name.replace(/\/[^/]*$/, "");
  const isOwner = !fork.includes("/");
  if (fork === "" || isSame(fork, isOwner ? ownerOf(repository) : repository)) {
    return { owner: "", repository: "" };
  }
  return { owner: ownerOf(fork), repository: isOwner ? "" : fork };
}

/** Whether a folder is another one or lies in it; where one is unknown, nothing speaks against it. */
function liesIn(folder: string, other: string): boolean {
  if (folder === "" || other === "") return true;
  const plain = (path: string) =>
    `${path.replaceAll("\\", "/").replace(/\/+$/, "")}/`.toLowerCase();
  // CircleCI names a folder below the home of its user.
  if (other.startsWith("~/")) return plain(folder).includes(plain(other).slice(1));
  return plain(folder).startsWith(plain(other));
}

/** Whether the path of an address names a repository; a forge may live below a path of its host. */
function isOf(path: string, repository: string): boolean {
  return repository !== "" && `/${path}`.toLowerCase().endsWith(`/${repository}`.toLowerCase());
}

function isSame(one: string, other: string): boolean {
  return one !== "" && one.toLowerCase() === other.toLowerCase();
}

/** 0 when it is no number. */
function countIn(text: string): number {
  return /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

/** Seconds since 1970 of a time stamp, or of seconds or milliseconds. */
function readMoment(text: string): number | null {
  if (/^\d{9,10}$/.test(text)) return Number(text);
  if (/^\d{12,13}$/.test(text)) return Math.floor(Number(text) / 1000);
  return valueOr(() => parseTimestamp(text), null);
}

/** The first characters of a name, as many as a submission keeps. */
export function shorten(text: string, maxCharacters = MAX_NAME_CHARACTERS): string {
  return [...text].slice(0, maxCharacters).join("");
}

/** The name of a job without the number of a shard and the values of a matrix: `test 2/4`, `test: [20]`. */
function withoutShard(name: string): string {
  return name.replace(/[\s:]*\[[^\]]*\]$/, "").replace(/[\s-]+\d+\/\d+$/, "");
}
