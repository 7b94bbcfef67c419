/**
 * The CI services that are detected, with the variables of each. `buildUrl` is the URL of the whole
 * run, equal for all its jobs, shards and re-runs: submissions with the same URL are one build.
 */

/** The value of a variable, `""` when it is not set. */
export type Get = (name: string) => string;

/**
 * Texts with variables such as `$CI_COMMIT_SHA`, of which the first counts whose variables are all set;
 * or a function. `""` means unknown.
 */
export type Fact = readonly string[] | ((get: Get) => string);

interface Provider {
  /** Name in messages; archives have it as `github-actions`. */
  title: string;
  /** Variables, one of which is set in every job. */
  presence: readonly string[];
  /** `OWNER/NAME`; by default the path of `repositoryUrl`. */
  repository?: Fact;
  commit: Fact;
  branch: Fact;
  buildUrl: Fact;
  /** URL of the repository or of its page, with credentials at times. */
  repositoryUrl?: Fact;
}

/** The first one that is present is used. */
export const PROVIDERS: readonly Provider[] = [
  {
    title: "GitHub Actions",
    presence: ["GITHUB_ACTIONS"],
    repository: ["$GITHUB_REPOSITORY"],
    // For a pull request the merge commit that the tests run on. With pull_request_target both
    // commit and branch are those of the base.
    commit: ["$GITHUB_SHA"],
    branch: (get) =>
      get("GITHUB_EVENT_NAME") !== "pull_request_target" && get("GITHUB_HEAD_REF") ||
      branchOf(get("GITHUB_REF")),
    buildUrl: [
      "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID",
      "https://github.com/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID",
    ],
    repositoryUrl: [
      "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY",
      "https://github.com/$GITHUB_REPOSITORY",
    ],
  },
  {
    title: "GitLab CI",
    presence: ["GITLAB_CI"],
    repository: ["$CI_PROJECT_PATH"],
    commit: ["$CI_COMMIT_SHA"],
    branch: ["$CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "$CI_COMMIT_BRANCH"],
    buildUrl: ["$CI_PIPELINE_URL"],
    repositoryUrl: ["$CI_PROJECT_URL"],
  },
  {
    title: "CircleCI",
    presence: ["CIRCLECI"],
    repository: ["$CIRCLE_PROJECT_USERNAME/$CIRCLE_PROJECT_REPONAME"],
    commit: ["$CIRCLE_SHA1"],
    branch: ["$CIRCLE_BRANCH"],
    buildUrl(get) {
      const workflow = get("CIRCLE_WORKFLOW_ID");
      // The URL of one job; a self-hosted server has another host.
      const job = get("CIRCLE_BUILD_URL");
      const server = URL.parse(job)?.origin ?? "https://circleci.com";
      return workflow ? `${server}/workflow-run/${workflow}` : job;
    },
    repositoryUrl: ["$CIRCLE_REPOSITORY_URL"],
  },
  {
    title: "Buildkite",
    presence: ["BUILDKITE"],
    commit: ["$BUILDKITE_COMMIT"],
    branch: ["$BUILDKITE_BRANCH"],
    buildUrl: ["$BUILDKITE_BUILD_URL"],
    repositoryUrl: ["$BUILDKITE_REPO"],
  },
  {
    title: "Travis CI",
    presence: ["TRAVIS"],
    repository: ["$TRAVIS_REPO_SLUG"],
    commit: ["$TRAVIS_COMMIT"],
    branch: (get) =>
      get("TRAVIS_PULL_REQUEST_BRANCH") ||
      // For a tag, TRAVIS_BRANCH is the tag.
      (get("TRAVIS_TAG") ? "" : get("TRAVIS_BRANCH")),
    buildUrl: ["$TRAVIS_BUILD_WEB_URL", "$TRAVIS_JOB_WEB_URL"],
  },
  {
    title: "Semaphore",
    presence: ["SEMAPHORE"],
    repository: ["$SEMAPHORE_GIT_REPO_SLUG"],
    commit: ["$SEMAPHORE_GIT_SHA"],
    branch(get) {
      const isBranch = ["", "branch"].includes(get("SEMAPHORE_GIT_REF_TYPE"));
      return get("SEMAPHORE_GIT_PR_BRANCH") || (isBranch ? get("SEMAPHORE_GIT_BRANCH") : "");
    },
    buildUrl: ["$SEMAPHORE_ORGANIZATION_URL/workflows/$SEMAPHORE_WORKFLOW_ID"],
    repositoryUrl: ["$SEMAPHORE_GIT_URL"],
  },
  {
    title: "Azure Pipelines",
    presence: ["TF_BUILD"],
    repository(get) {
      const name = get("BUILD_REPOSITORY_NAME");
      // In Azure Repos the project is the owner.
      const project = get("SYSTEM_TEAMPROJECT");
      return name.includes("/") || name === "" ? name : project && `${project}/${name}`;
    },
    commit: ["$BUILD_SOURCEVERSION"],
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
    repositoryUrl: ["$BUILD_REPOSITORY_URI"],
  },
  {
    title: "Bitbucket Pipelines",
    presence: ["BITBUCKET_BUILD_NUMBER"],
    repository: ["$BITBUCKET_REPO_FULL_NAME"],
    commit: ["$BITBUCKET_COMMIT"],
    branch: ["$BITBUCKET_BRANCH"],
    buildUrl: [
      "https://bitbucket.org/$BITBUCKET_REPO_FULL_NAME/pipelines/results/$BITBUCKET_BUILD_NUMBER",
    ],
    repositoryUrl: ["$BITBUCKET_GIT_HTTP_ORIGIN"],
  },
  {
    title: "AWS CodeBuild",
    presence: ["CODEBUILD_BUILD_ID"],
    commit: ["$CODEBUILD_RESOLVED_SOURCE_VERSION"],
    branch(get) {
      const trigger = get("CODEBUILD_WEBHOOK_TRIGGER");
      return branchOf(get("CODEBUILD_WEBHOOK_HEAD_REF") || get("CODEBUILD_SOURCE_VERSION")) ||
        (trigger.startsWith("branch/") ? trigger.slice("branch/".length) : "");
    },
    buildUrl: ["$CODEBUILD_BUILD_URL"],
    repositoryUrl: ["$CODEBUILD_SOURCE_REPO_URL"],
  },
  {
    // Last: child processes of an agent may inherit its variables.
    title: "Jenkins",
    presence: ["JENKINS_URL", "JENKINS_HOME"],
    commit: ["$GIT_COMMIT"],
    branch: (get) =>
      get("CHANGE_BRANCH") || get("BRANCH_NAME") ||
      get("GIT_BRANCH").replace(/^(refs\/heads\/|(refs\/remotes\/)?origin\/)/, ""),
    buildUrl: ["$BUILD_URL"],
    repositoryUrl: ["$GIT_URL", "$GIT_URL_1"],
  },
];

/** The branch of a ref `refs/heads/...`, `""` for others such as tags. */
function branchOf(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "";
}
