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

export interface Service {
  /** Name in messages; archives have it as `github-actions`. */
  title: string;
  /** Variables, one of which is set in every job. */
  presence: readonly string[];
  /** `OWNER/NAME`; by default the path of `repositoryUrl`. */
  repository?: Fact;
  commit: Fact;
  branch: Fact;
  /** System and architecture, and the values of a matrix, as far as the service names them. */
  environment?: Fact;
  /** Name of the job; shard numbers and values of a matrix at its end are removed. */
  job?: Fact;
  /** Which shard of how many. */
  shard?: Fact;
  buildUrl: Fact;
  /** URL of the repository or of its page, with credentials at times. */
  repositoryUrl?: Fact;
}

/** The first one that is present is used. */
export const SERVICES: readonly Service[] = [
  {
    title: "GitHub Actions",
    presence: ["GITHUB_ACTIONS"],
    repository: ["$GITHUB_REPOSITORY"],
    // For a pull request the merge commit that the tests run on. With pull_request_target both
    // commit and branch belong to the base.
    commit: ["$GITHUB_SHA"],
    branch: (get) =>
      get("GITHUB_EVENT_NAME") !== "pull_request_target" && get("GITHUB_HEAD_REF") ||
      branchOf(get("GITHUB_REF")),
    // The values of a matrix are in no variable.
    environment: ["$RUNNER_OS-$RUNNER_ARCH"],
    job: ["$GITHUB_JOB"],
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
    environment: (get) =>
      [get("CI_RUNNER_EXECUTABLE_ARCH"), matrixOf(get).replaceAll(/,\s*/g, " ")].join(" ").trim(),
    job: ["$CI_JOB_NAME"],
    // The jobs of a matrix are numbered, too.
    shard: (get) => matrixOf(get) ? "" : shardOf(get("CI_NODE_INDEX"), get("CI_NODE_TOTAL")),
    buildUrl: ["$CI_PIPELINE_URL"],
    repositoryUrl: ["$CI_PROJECT_URL"],
  },
  {
    title: "CircleCI",
    presence: ["CIRCLECI"],
    repository: ["$CIRCLE_PROJECT_USERNAME/$CIRCLE_PROJECT_REPONAME"],
    commit: ["$CIRCLE_SHA1"],
    branch: ["$CIRCLE_BRANCH"],
    job: ["$CIRCLE_JOB"],
    shard: (get) => shardOf(get("CIRCLE_NODE_INDEX"), get("CIRCLE_NODE_TOTAL")),
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
    job: ["$BUILDKITE_STEP_KEY", "$BUILDKITE_LABEL"],
    shard: (get) => shardOf(get("BUILDKITE_PARALLEL_JOB"), get("BUILDKITE_PARALLEL_JOB_COUNT")),
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
    environment: ["$TRAVIS_OS_NAME-$TRAVIS_CPU_ARCH", "$TRAVIS_OS_NAME"],
    job: ["$TRAVIS_JOB_NAME"],
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
    environment: ["$SEMAPHORE_AGENT_MACHINE_OS_IMAGE"],
    job: ["$SEMAPHORE_JOB_NAME"],
    shard: (get) => shardOf(get("SEMAPHORE_JOB_INDEX"), get("SEMAPHORE_JOB_COUNT")),
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
    environment: ["$AGENT_OS-$AGENT_OSARCHITECTURE", "$AGENT_OS"],
    // The job of the pipeline; the jobs of a matrix are distinguished by their position.
    job: ["$SYSTEM_PHASENAME"],
    shard: (get) => shardOf(get("SYSTEM_JOBPOSITIONINPHASE"), get("SYSTEM_TOTALJOBSINPHASE")),
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
    // Steps have no name in the variables.
    shard: (get) => shardOf(get("BITBUCKET_PARALLEL_STEP"), get("BITBUCKET_PARALLEL_STEP_COUNT")),
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
    job: ["$CODEBUILD_BATCH_BUILD_IDENTIFIER"],
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
    job(get) {
      // In a multibranch pipeline, the last part is the branch.
      const name = get("JOB_NAME");
      const job = get("BRANCH_NAME") ? name.replace(/\/[^/]*$/, "") : name;
      return [job, get("STAGE_NAME")].filter((text) => text !== "").join(" ");
    },
    buildUrl: ["$BUILD_URL"],
    repositoryUrl: ["$GIT_URL", "$GIT_URL_1"],
  },
];

/** The values of GitLab's matrix at the end of the job's name, as in `test: [linux, 20]`. */
function matrixOf(get: Get): string {
  return /\[([^\]]*)\]$/.exec(get("CI_JOB_NAME"))?.[1] ?? "";
}

/** `""` for the only one. */
function shardOf(index: string, total: string): string {
  return Number(total) > 1 && index !== "" ? `${index}/${total}` : "";
}

/** The branch of a ref `refs/heads/...`, `""` for others such as tags. */
function branchOf(ref: string): string {
  return ref.startsWith("refs/heads/") ? ref.slice("refs/heads/".length) : "";
}
