/**
 * The CI services that are detected, with the variables of each.
 *
 * `buildUrl` is the URL of the whole run, equal for all its jobs, shards and re-runs: submissions with
 * the same URL are one build.
 */
import { repositoryOfGitUrl } from "./git_url.ts";

/** Environment variables by name. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Facts in the environment of a CI service; `""` means unknown. */
export interface ProviderFacts {
  /** `OWNER/NAME`. */
  repository: string;
  commit: string;
  branch: string;
  buildUrl: string;
}

/** One CI service. */
export interface Provider {
  /** Name in archives. */
  name: string;
  /** Name in messages. */
  title: string;
  isPresent(get: Get): boolean;
  facts(get: Get): ProviderFacts;
  /** The variables of each fact, for messages. */
  sources: Record<keyof ProviderFacts, string>;
}

/** The value of a variable, `""` when it is not set. */
export type Get = (name: string) => string;

/** The first one that is present is used. */
export const PROVIDERS: readonly Provider[] = [
  {
    name: "github-actions",
    title: "GitHub Actions",
    isPresent: (get) => get("GITHUB_ACTIONS") === "true",
    facts: (get) => {
      const repository = get("GITHUB_REPOSITORY");
      const run = get("GITHUB_RUN_ID");
      const server = get("GITHUB_SERVER_URL") || "https://github.com";
      const ref = get("GITHUB_REF");
      // For a pull request GITHUB_SHA is the merge commit that the tests run on. With
      // pull_request_target both commit and branch are those of the base.
      const head = get("GITHUB_EVENT_NAME") === "pull_request_target" ? "" : get("GITHUB_HEAD_REF");
      return {
        repository,
        commit: get("GITHUB_SHA"),
        branch: head || (ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : ""),
        buildUrl: repository && run ? `${server}/${repository}/actions/runs/${run}` : "",
      };
    },
    sources: {
      repository: "GITHUB_REPOSITORY",
      commit: "GITHUB_SHA",
      branch: "GITHUB_HEAD_REF or GITHUB_REF",
      buildUrl: "GITHUB_RUN_ID",
    },
  },
  {
    name: "gitlab-ci",
    title: "GitLab CI",
    isPresent: (get) => get("GITLAB_CI") === "true",
    facts: (get) => ({
      repository: get("CI_PROJECT_PATH"),
      commit: get("CI_COMMIT_SHA"),
      branch: get("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME") || get("CI_COMMIT_BRANCH"),
      buildUrl: get("CI_PIPELINE_URL"),
    }),
    sources: {
      repository: "CI_PROJECT_PATH",
      commit: "CI_COMMIT_SHA",
      branch: "CI_COMMIT_BRANCH",
      buildUrl: "CI_PIPELINE_URL",
    },
  },
  {
    name: "circleci",
    title: "CircleCI",
    isPresent: (get) => get("CIRCLECI") === "true",
    facts: (get) => {
      const owner = get("CIRCLE_PROJECT_USERNAME");
      const name = get("CIRCLE_PROJECT_REPONAME");
      const workflow = get("CIRCLE_WORKFLOW_ID");
      const job = get("CIRCLE_BUILD_URL");
      // CIRCLE_BUILD_URL is the URL of one job; a self-hosted server has another host.
      const server = originOf(job) || "https://circleci.com";
      return {
        repository: owner && name
          ? `${owner}/${name}`
          : repositoryOfGitUrl(get("CIRCLE_REPOSITORY_URL")),
        commit: get("CIRCLE_SHA1"),
        branch: get("CIRCLE_BRANCH"),
        buildUrl: workflow ? `${server}/workflow-run/${workflow}` : job,
      };
    },
    sources: {
      repository: "CIRCLE_PROJECT_USERNAME and CIRCLE_PROJECT_REPONAME",
      commit: "CIRCLE_SHA1",
      branch: "CIRCLE_BRANCH",
      buildUrl: "CIRCLE_WORKFLOW_ID",
    },
  },
  {
    name: "buildkite",
    title: "Buildkite",
    isPresent: (get) => get("BUILDKITE") === "true",
    facts: (get) => ({
      repository: repositoryOfGitUrl(get("BUILDKITE_REPO")),
      commit: get("BUILDKITE_COMMIT"),
      branch: get("BUILDKITE_BRANCH"),
      buildUrl: get("BUILDKITE_BUILD_URL"),
    }),
    sources: {
      repository: "BUILDKITE_REPO",
      commit: "BUILDKITE_COMMIT",
      branch: "BUILDKITE_BRANCH",
      buildUrl: "BUILDKITE_BUILD_URL",
    },
  },
  {
    name: "travis-ci",
    title: "Travis CI",
    isPresent: (get) => get("TRAVIS") === "true",
    facts: (get) => ({
      repository: get("TRAVIS_REPO_SLUG"),
      commit: get("TRAVIS_COMMIT"),
      branch: get("TRAVIS_PULL_REQUEST_BRANCH") ||
        // For a tag, TRAVIS_BRANCH is the tag.
        (get("TRAVIS_TAG") ? "" : get("TRAVIS_BRANCH")),
      buildUrl: get("TRAVIS_BUILD_WEB_URL") || get("TRAVIS_JOB_WEB_URL"),
    }),
    sources: {
      repository: "TRAVIS_REPO_SLUG",
      commit: "TRAVIS_COMMIT",
      branch: "TRAVIS_BRANCH",
      buildUrl: "TRAVIS_BUILD_WEB_URL",
    },
  },
  {
    name: "semaphore",
    title: "Semaphore",
    isPresent: (get) => get("SEMAPHORE") === "true",
    facts: (get) => {
      const organization = get("SEMAPHORE_ORGANIZATION_URL");
      const workflow = get("SEMAPHORE_WORKFLOW_ID");
      const isBranch = ["", "branch"].includes(get("SEMAPHORE_GIT_REF_TYPE"));
      return {
        repository: get("SEMAPHORE_GIT_REPO_SLUG") || repositoryOfGitUrl(get("SEMAPHORE_GIT_URL")),
        commit: get("SEMAPHORE_GIT_SHA"),
        branch: get("SEMAPHORE_GIT_PR_BRANCH") || (isBranch ? get("SEMAPHORE_GIT_BRANCH") : ""),
        buildUrl: organization && workflow ? `${organization}/workflows/${workflow}` : "",
      };
    },
    sources: {
      repository: "SEMAPHORE_GIT_REPO_SLUG",
      commit: "SEMAPHORE_GIT_SHA",
      branch: "SEMAPHORE_GIT_BRANCH",
      buildUrl: "SEMAPHORE_ORGANIZATION_URL and SEMAPHORE_WORKFLOW_ID",
    },
  },
  {
    name: "azure-pipelines",
    title: "Azure Pipelines",
    isPresent: (get) => get("TF_BUILD").toLowerCase() === "true",
    facts: (get) => {
      const name = get("BUILD_REPOSITORY_NAME");
      const project = get("SYSTEM_TEAMPROJECT");
      // Ends with a slash; project names may contain spaces.
      const collection = get("SYSTEM_TEAMFOUNDATIONCOLLECTIONURI") || get("SYSTEM_COLLECTIONURI");
      const build = get("BUILD_BUILDID");
      const ref = get("SYSTEM_PULLREQUEST_SOURCEBRANCH") || get("BUILD_SOURCEBRANCH");
      return {
        // In Azure Repos the project is the owner.
        repository: name.includes("/") || name === "" ? name : project && `${project}/${name}`,
        commit: get("BUILD_SOURCEVERSION"),
        branch: ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "",
        buildUrl: collection && project && build
          ? `${collection.replace(/\/$/, "")}/${encodeURIComponent(project)}` +
            `/_build/results?buildId=${build}`
          : "",
      };
    },
    sources: {
      repository: "BUILD_REPOSITORY_NAME",
      commit: "BUILD_SOURCEVERSION",
      branch: "BUILD_SOURCEBRANCH",
      buildUrl: "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI, SYSTEM_TEAMPROJECT and BUILD_BUILDID",
    },
  },
  {
    name: "bitbucket-pipelines",
    title: "Bitbucket Pipelines",
    isPresent: (get) => get("BITBUCKET_BUILD_NUMBER") !== "",
    facts: (get) => {
      const repository = get("BITBUCKET_REPO_FULL_NAME");
      const build = get("BITBUCKET_BUILD_NUMBER");
      return {
        repository,
        commit: get("BITBUCKET_COMMIT"),
        branch: get("BITBUCKET_BRANCH"),
        buildUrl: repository && `https://bitbucket.org/${repository}/pipelines/results/${build}`,
      };
    },
    sources: {
      repository: "BITBUCKET_REPO_FULL_NAME",
      commit: "BITBUCKET_COMMIT",
      branch: "BITBUCKET_BRANCH",
      buildUrl: "BITBUCKET_REPO_FULL_NAME",
    },
  },
  {
    name: "aws-codebuild",
    title: "AWS CodeBuild",
    isPresent: (get) => get("CODEBUILD_BUILD_ID") !== "",
    facts: (get) => {
      const ref = get("CODEBUILD_WEBHOOK_HEAD_REF") || get("CODEBUILD_SOURCE_VERSION");
      const trigger = get("CODEBUILD_WEBHOOK_TRIGGER");
      return {
        repository: repositoryOfGitUrl(get("CODEBUILD_SOURCE_REPO_URL")),
        commit: get("CODEBUILD_RESOLVED_SOURCE_VERSION"),
        branch: ref.startsWith("refs/heads/")
          ? ref.slice("refs/heads/".length)
          : trigger.startsWith("branch/")
          ? trigger.slice("branch/".length)
          : "",
        buildUrl: get("CODEBUILD_BUILD_URL"),
      };
    },
    sources: {
      repository: "CODEBUILD_SOURCE_REPO_URL",
      commit: "CODEBUILD_RESOLVED_SOURCE_VERSION",
      branch: "CODEBUILD_WEBHOOK_HEAD_REF",
      buildUrl: "CODEBUILD_BUILD_URL",
    },
  },
  {
    // Last: child processes of an agent may inherit its variables.
    name: "jenkins",
    title: "Jenkins",
    isPresent: (get) => get("JENKINS_URL") !== "" || get("JENKINS_HOME") !== "",
    facts: (get) => ({
      repository: repositoryOfGitUrl(get("GIT_URL") || get("GIT_URL_1")),
      commit: get("GIT_COMMIT"),
      branch: get("CHANGE_BRANCH") || get("BRANCH_NAME") ||
        get("GIT_BRANCH").replace(/^(refs\/heads\/|(refs\/remotes\/)?origin\/)/, ""),
      buildUrl: get("BUILD_URL"),
    }),
    sources: {
      repository: "GIT_URL",
      commit: "GIT_COMMIT",
      branch: "GIT_BRANCH",
      buildUrl: "BUILD_URL",
    },
  },
];

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "";
}
