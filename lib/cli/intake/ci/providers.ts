/**
 * The CI services that are detected, with the variables of each. `buildUrl` is the URL of the whole
 * run, equal for all its jobs, shards and re-runs: submissions with the same URL are one build.
 */
import { repositoryOfGitUrl } from "./git.ts";

/** The value of a variable, `""` when it is not set. */
export type Get = (name: string) => string;

/** One CI service. Facts are `""` when they are unknown. */
export interface Provider {
  /** Name in archives. */
  name: string;
  /** Name in messages. */
  title: string;
  isPresent(get: Get): boolean;
  /** `OWNER/NAME`. */
  repository(get: Get): string;
  commit(get: Get): string;
  branch(get: Get): string;
  buildUrl(get: Get): string;
  /** URL of the repository or of its page, with credentials at times. */
  repositoryUrl(get: Get): string;
}

/** The first one that is present is used. */
export const PROVIDERS: readonly Provider[] = [
  {
    name: "github-actions",
    title: "GitHub Actions",
    isPresent: (get) => get("GITHUB_ACTIONS") === "true",
    repository: (get) => get("GITHUB_REPOSITORY"),
    // For a pull request the merge commit that the tests run on. With pull_request_target both
    // commit and branch are those of the base.
    commit: (get) => get("GITHUB_SHA"),
    branch: (get) =>
      get("GITHUB_EVENT_NAME") !== "pull_request_target" && get("GITHUB_HEAD_REF") ||
      branchOf(get("GITHUB_REF")),
    buildUrl(get) {
      const repository = get("GITHUB_REPOSITORY");
      const run = get("GITHUB_RUN_ID");
      const server = get("GITHUB_SERVER_URL") || "https://github.com";
      return repository && run && `${server}/${repository}/actions/runs/${run}`;
    },
    repositoryUrl(get) {
      const repository = get("GITHUB_REPOSITORY");
      return repository && `${get("GITHUB_SERVER_URL") || "https://github.com"}/${repository}`;
    },
  },
  {
    name: "gitlab-ci",
    title: "GitLab CI",
    isPresent: (get) => get("GITLAB_CI") === "true",
    repository: (get) => get("CI_PROJECT_PATH"),
    commit: (get) => get("CI_COMMIT_SHA"),
    branch: (get) => get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") || get("CI_COMMIT_BRANCH"),
    buildUrl: (get) => get("CI_PIPELINE_URL"),
    repositoryUrl: (get) => get("CI_PROJECT_URL"),
  },
  {
    name: "circleci",
    title: "CircleCI",
    isPresent: (get) => get("CIRCLECI") === "true",
    repository(get) {
      const owner = get("CIRCLE_PROJECT_USERNAME");
      const name = get("CIRCLE_PROJECT_REPONAME");
      return owner && name ? `${owner}/${name}` : repositoryOfGitUrl(get("CIRCLE_REPOSITORY_URL"));
    },
    commit: (get) => get("CIRCLE_SHA1"),
    branch: (get) => get("CIRCLE_BRANCH"),
    buildUrl(get) {
      const workflow = get("CIRCLE_WORKFLOW_ID");
      // The URL of one job; a self-hosted server has another host.
      const job = get("CIRCLE_BUILD_URL");
      const server = URL.parse(job)?.origin ?? "https://circleci.com";
      return workflow ? `${server}/workflow-run/${workflow}` : job;
    },
    repositoryUrl: (get) => get("CIRCLE_REPOSITORY_URL"),
  },
  {
    name: "buildkite",
    title: "Buildkite",
    isPresent: (get) => get("BUILDKITE") === "true",
    repository: (get) => repositoryOfGitUrl(get("BUILDKITE_REPO")),
    commit: (get) => get("BUILDKITE_COMMIT"),
    branch: (get) => get("BUILDKITE_BRANCH"),
    buildUrl: (get) => get("BUILDKITE_BUILD_URL"),
    repositoryUrl: (get) => get("BUILDKITE_REPO"),
  },
  {
    name: "travis-ci",
    title: "Travis CI",
    isPresent: (get) => get("TRAVIS") === "true",
    repository: (get) => get("TRAVIS_REPO_SLUG"),
    commit: (get) => get("TRAVIS_COMMIT"),
    branch: (get) =>
      get("TRAVIS_PULL_REQUEST_BRANCH") ||
      // For a tag, TRAVIS_BRANCH is the tag.
      (get("TRAVIS_TAG") ? "" : get("TRAVIS_BRANCH")),
    buildUrl: (get) => get("TRAVIS_BUILD_WEB_URL") || get("TRAVIS_JOB_WEB_URL"),
    // TRAVIS_REPO_SLUG has no host.
    repositoryUrl: () => "",
  },
  {
    name: "semaphore",
    title: "Semaphore",
    isPresent: (get) => get("SEMAPHORE") === "true",
    repository: (get) =>
      get("SEMAPHORE_GIT_REPO_SLUG") || repositoryOfGitUrl(get("SEMAPHORE_GIT_URL")),
    commit: (get) => get("SEMAPHORE_GIT_SHA"),
    branch(get) {
      const isBranch = ["", "branch"].includes(get("SEMAPHORE_GIT_REF_TYPE"));
      return get("SEMAPHORE_GIT_PR_BRANCH") || (isBranch ? get("SEMAPHORE_GIT_BRANCH") : "");
    },
    buildUrl(get) {
      const organization = get("SEMAPHORE_ORGANIZATION_URL");
      const workflow = get("SEMAPHORE_WORKFLOW_ID");
      return organization && workflow && `${organization}/workflows/${workflow}`;
    },
    repositoryUrl: (get) => get("SEMAPHORE_GIT_URL"),
  },
  {
    name: "azure-pipelines",
    title: "Azure Pipelines",
    isPresent: (get) => get("TF_BUILD").toLowerCase() === "true",
    repository(get) {
      const name = get("BUILD_REPOSITORY_NAME");
      // In Azure Repos the project is the owner.
      const project = get("SYSTEM_TEAMPROJECT");
      return name.includes("/") || name === "" ? name : project && `${project}/${name}`;
    },
    commit: (get) => get("BUILD_SOURCEVERSION"),
    branch: (get) => branchOf(get("SYSTEM_PULLREQUEST_SOURCEBRANCH") || get("BUILD_SOURCEBRANCH")),
    buildUrl(get) {
      // Ends with a slash; project names may contain spaces.
      const collection = get("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI") || get("SYSTEM_COLLECTIONURI");
      const project = get("SYSTEM_TEAMPROJECT");
      const build = get("BUILD_BUILDID");
      return collection && project && build &&
        `${collection.replace(/\/$/, "")}/${encodeURIComponent(project)}` +
          `/_build/results?buildId=${build}`;
    },
    repositoryUrl: (get) => get("BUILD_REPOSITORY_URI"),
  },
  {
    name: "bitbucket-pipelines",
    title: "Bitbucket Pipelines",
    isPresent: (get) => get("BITBUCKET_BUILD_NUMBER") !== "",
    repository: (get) => get("BITBUCKET_REPO_FULL_NAME"),
    commit: (get) => get("BITBUCKET_COMMIT"),
    branch: (get) => get("BITBUCKET_BRANCH"),
    buildUrl(get) {
      const repository = get("BITBUCKET_REPO_FULL_NAME");
      const build = get("BITBUCKET_BUILD_NUMBER");
      return repository && `https://bitbucket.org/${repository}/pipelines/results/${build}`;
    },
    repositoryUrl: (get) => get("BITBUCKET_GIT_HTTP_ORIGIN"),
  },
  {
    name: "aws-codebuild",
    title: "AWS CodeBuild",
    isPresent: (get) => get("CODEBUILD_BUILD_ID") !== "",
    repository: (get) => repositoryOfGitUrl(get("CODEBUILD_SOURCE_REPO_URL")),
    commit: (get) => get("CODEBUILD_RESOLVED_SOURCE_VERSION"),
    branch(get) {
      const trigger = get("CODEBUILD_WEBHOOK_TRIGGER");
      return branchOf(get("CODEBUILD_WEBHOOK_HEAD_REF") || get("CODEBUILD_SOURCE_VERSION")) ||
        (trigger.startsWith("branch/") ? trigger.slice("branch/".length) : "");
    },
    buildUrl: (get) => get("CODEBUILD_BUILD_URL"),
    repositoryUrl: (get) => get("CODEBUILD_SOURCE_REPO_URL"),
  },
  {
    // Last: child processes of an agent may inherit its variables.
    name: "jenkins",
    title: "Jenkins",
    isPresent: (get) => get("JENKINS_URL") !== "" || get("JENKINS_HOME") !== "",
    repository: (get) => repositoryOfGitUrl(get("GIT_URL") || get("GIT_URL_1")),
    commit: (get) => get("GIT_COMMIT"),
    branch: (get) =>
      get("CHANGE_BRANCH") || get("BRANCH_NAME") ||
      get("GIT_BRANCH").replace(/^(refs\/heads\/|(refs\/remotes\/)?origin\/)/, ""),
    buildUrl: (get) => get("BUILD_URL"),
    repositoryUrl: (get) => get("GIT_URL") || get("GIT_URL_1"),
  },
];

/** The branch of a ref `refs/heads/...`, `""` for others such as tags. */
function branchOf(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "";
}
