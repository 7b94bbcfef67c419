/** What the variables of a CI job mean: repository, commit, branch, build URL and so on. */
import { isGitId } from "../base/commit.ts";
import type { Environment } from "../base/config.ts";
import { readGitUrl } from "./git_url.ts";
import { type Fact, type Get, SERVICES } from "./services.ts";

/** What is known of a run from its CI service or checkout; `""` means unknown. */
export interface DetectedRun {
  repository: string;
  /** Page of the repository, without credentials. */
  repositoryUrl: string;
  commit: string;
  /** Git tree of the commit. */
  tree: string;
  branch: string;
  /** Where the job runs, such as `Linux-X64`: what the results depend on in addition to the code. */
  environment: string;
  /** Name of the job, the same for all its shards. */
  job: string;
  /** Which of the job's shards, as the service counts them: `2/4`. */
  shard: string;
  buildUrl: string;
}

export interface CiJob extends DetectedRun {
  /** Such as `GitHub Actions`. */
  title: string;
}

/** The maximum length of an environment, job or shard in characters (code points). */
export const MAX_NAME_CHARACTERS = 100;

/** The CI job that the variables describe, without its checkout; `null` outside of CI. */
export function readCiJob(variables: Environment): CiJob | null {
  const get = (name: string) => variables[name]?.trim() ?? "";
  const isSet = (name: string) => !["", "false"].includes(get(name).toLowerCase());
  const service = SERVICES.find(({ presence }) => presence.some(isSet));
  if (!service) return null;
  const read = (fact: Fact = []) => typeof fact === "function" ? fact(get) : fill(fact, get);
  const fromUrl = readGitUrl(read(service.repositoryUrl));
  const commit = read(service.commit);
  return {
    title: service.title,
    repository: read(service.repository) || fromUrl.repository,
    repositoryUrl: fromUrl.page,
    // A build that was started manually may say "HEAD".
    commit: isGitId(commit) ? commit : "",
    tree: "",
    branch: read(service.branch),
    environment: shorten(read(service.environment)),
    job: shorten(withoutShard(read(service.job))),
    shard: shorten(read(service.shard)),
    buildUrl: read(service.buildUrl),
  };
}

function shorten(text: string): string {
  return [...text].slice(0, MAX_NAME_CHARACTERS).join("");
}

/** The name of a job without the number of a shard and the values of a matrix: `test 2/4`, `test: [20]`. */
function withoutShard(name: string): string {
  return name.replace(/[\s:]*\[[^\]]*\]$/, "").replace(/[\s-]+\d+\/\d+$/, "");
}

const VARIABLE = /\$([A-Z][A-Z0-9_]*)/g;

/** The first text whose variables are all set, with their values. */
function fill(texts: readonly string[], get: Get): string {
  const isComplete = (text: string) =>
    text.matchAll(VARIABLE).every(([, name = ""]) => get(name) !== "");
  return texts.find(isComplete)?.replaceAll(VARIABLE, (_, name) => get(name)) ?? "";
}
