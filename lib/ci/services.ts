/**
 * The CI services that are detected, with the variables of each. `buildUrl` is the URL of the whole
 * run, equal for all its jobs, shards and re-runs: submissions with the same URL are one build.
 */
import { branchOf } from "./git_ref.ts";

/** Computes a fact from the values of variables, `""` each when not set. */
interface Computed {
  names: readonly string[];
  read(...values: string[]): string;
}

/**
 * Texts with variables such as `$CI_COMMIT_SHA`, of which the first counts whose variables are all set;
 * or a function of variables. `""` means unknown.
 */
export type Fact = readonly string[] | Computed;

/** The variables that number the nodes of a job, as the service counts them. */
interface Nodes {
  index: string;
  total: string;
  /** Index of the first node. */
  first: 0 | 1;
  /** Tells the jobs of a matrix, which the variables number instead of the nodes of one of them. */
  matrix?: { variable: string; isOf(value: string): boolean };
}

/** A shard that the service numbers. */
interface NumberedShard extends Computed {
  nodes: Nodes;
}

export interface Service {
  /** Name in messages; archives have it as `github-actions`. */
  title: string;
  /** The vendor's page that describes the variables. */
  page: string;
  /** Variables, one of which is set in every job, or `NAME=value`. */
  presence: readonly string[];
  /** `OWNER/NAME`; by default the path of `repositoryUrl`. */
  repository?: Fact;
  commit: Fact;
  /** The commit where there is no checkout; by default `commit`. */
  commitWithoutCheckout?: Fact;
  /** The commit of another run, whose reports this one uploads: it counts in place of the checkout's. */
  reportedCommit?: Fact;
  branch: Fact;
  /** The branch where the checkout has another commit than `commit`; by default `branch`. */
  branchOfOtherCommit?: Fact;
  /** Repository of the branch, its address or its owner, when that may be a fork. */
  fork?: Fact;
  /** The branch that a pull request is for, where the owner of a fork may be unknown. */
  targetBranch?: Fact;
  /** The branch that a merge queue tests for, unless the name of the queue's branch says so. */
  queueBase?: Fact;
  /** The folder that the service checked the repository out to. */
  folder?: Fact;
  /** System and architecture, and the values of a matrix, as far as the service names them. */
  environment?: Fact;
  /** Name of the job; shard numbers and values of a matrix at its end are removed. */
  job?: Fact;
  /** Name of the job that already has its shard and the values of its matrix. */
  fullJob?: Fact;
  /** Name of the workflow or pipeline that has the job: another one may have a job of the same name. */
  workflow?: Fact;
  /** Which shard of how many, from 1. */
  shard?: Fact | NumberedShard;
  /** The attempt of the job, from 1: re-running a job in the same build counts up. */
  attempt?: Fact;
  /** Number of the run, higher for a later one. */
  runNumber?: Fact;
  /** Number of the job in its run, higher for a later one; by default `attempt`. */
  jobNumber?: Fact;
  runner?: Fact;
  buildUrl: Fact;
  /** URL of the repository or of its page, with credentials at times. */
  repositoryUrl?: Fact;
  defaultBranch?: Fact;
  /** Number of the pull or merge request, or an address that ends with it. */
  pullNumber?: Fact;
  /** The first pull request that is open for the branch, if the job was not started for one. */
  openPull?: Fact;
  pullTitle?: Fact;
  /** The last commit of a pull request, where `commit` may be its merge with the base. */
  pullHead?: Fact;
  /** Not empty when the pull request of the branch has to be looked up: no variable has its number. */
  searchesPull?: Fact;
  /** Where the repository is, if the service says so. */
  forge?: Fact;
  /** Id of the repository there. */
  projectId?: Fact;
  /** Name of the commit's author. */
  author?: Fact;
  /** When the build or job began: RFC 3339, or seconds or milliseconds since 1970. */
  startedAt?: Fact;
}

// Only the event workflow_run has these: it starts a job after the run that tested.
const OF_RUN = "EVENT_WORKFLOW_RUN_HEAD_SHA";

/**
 * Of services where running a build again makes another one: the cells of a matrix, whose values are in no
 * variable, are then not taken for repetitions of each other.
 */
const ONLY_ATTEMPT = by([], () => "1");

const GITHUB_EVENT = [
  "GITHUB_EVENT_NAME",
  "GITHUB_REF",
  OF_RUN,
  "EVENT_WORKFLOW_RUN_HEAD_BRANCH",
  "EVENT_PULL_REQUEST_HEAD_REF",
  "GITHUB_HEAD_REF",
  "GITHUB_BASE_REF",
];

/** The branch of the pull request or run that an event is about; `undefined` when it is about neither. */
function headBranch([run, ofRun, ofPull, head, base]: string[]): string | undefined {
  if (run) return ofRun;
  if (ofPull) return ofPull;
  // A branch with the name of its base is a fork's, whose owner only the event tells.
  return head ? (head === base ? "" : head) : undefined;
}

/** Rows of GitHub that Gitea and Forgejo have as well. */
const GITHUB = {
  repository: ["$GITHUB_REPOSITORY"],
  // For a pull request the merge commit that the tests run on.
  commit: ["$GITHUB_SHA"],
  // The commit of pull_request_target is the base's.
  commitWithoutCheckout: by(
    ["GITHUB_EVENT_NAME", "EVENT_PULL_REQUEST_HEAD_SHA", "GITHUB_SHA"],
    (event, head, commit) => event === "pull_request_target" && head || commit,
  ),
  // workflow_run runs at the default branch after the run that tested.
  reportedCommit: [`$${OF_RUN}`],
  branch: by(
    GITHUB_EVENT,
    (event, ref, ...heads) => headBranch(heads) ?? (event === "issue_comment" ? "" : branchOf(ref)),
  ),
  // Only these events name the branch that was tested, whatever a job checks out.
  branchOfOtherCommit: by(
    GITHUB_EVENT,
    (event, ref, ...heads) =>
      headBranch(heads) ?? (["push", "merge_group"].includes(event) ? branchOf(ref) : ""),
  ),
  fork: by(
    [
      OF_RUN,
      "EVENT_PULL_REQUEST_HEAD_REPO_FULL_NAME",
      "EVENT_WORKFLOW_RUN_HEAD_REPOSITORY_FULL_NAME",
      "EVENT_WORKFLOW_RUN_HEAD_REPOSITORY_OWNER_LOGIN",
    ],
    (run, ofPull, ofRun, owner) => run ? ofRun || owner : ofPull,
  ),
  folder: ["$GITHUB_WORKSPACE"],
  // The values of a matrix are in no variable: MATRIX has them. The tests of workflow_run ran elsewhere.
  environment: by(
    [OF_RUN, "RUNNER_OS", "RUNNER_ARCH"],
    (run, os, arch) => !run && os && arch ? `${os}-${arch}` : "",
  ),
  job: ["$GITHUB_JOB"],
  workflow: by(
    [OF_RUN, "EVENT_WORKFLOW_RUN_NAME", "GITHUB_WORKFLOW"],
    (run, ofRun, own) => run ? ofRun : own,
  ),
  runNumber: by(
    [OF_RUN, "EVENT_WORKFLOW_RUN_ID", "GITHUB_RUN_ID"],
    (run, ofRun, own) => run ? ofRun : own,
  ),
  attempt: by(
    [OF_RUN, "EVENT_WORKFLOW_RUN_RUN_ATTEMPT", "GITHUB_RUN_ATTEMPT"],
    (run, ofRun, own) => run ? ofRun : own,
  ),
  runner: by(
    [OF_RUN, "RUNNER_NAME"],
    (run, name) => run ? "" : name,
  ),
  repositoryUrl: [
    "$GITHUB_SERVER_URL/$GITHUB_REPOSITORY",
    "https://github.com/$GITHUB_REPOSITORY",
  ],
  defaultBranch: ["$EVENT_REPOSITORY_DEFAULT_BRANCH"],
  pullNumber: by(
    [
      "EVENT_PULL_REQUEST_NUMBER",
      "EVENT_WORKFLOW_RUN_EVENT",
      "EVENT_WORKFLOW_RUN_PULL_REQUESTS_0_NUMBER",
      "EVENT_ISSUE_PULL_REQUEST_URL",
      "EVENT_ISSUE_NUMBER",
      "GITHUB_REF",
    ],
    (ofEvent, event, ofRun, isPull, ofIssue, ref) =>
      ofEvent || event !== "push" && ofRun || isPull && ofIssue ||
      (/^refs\/pull\/(\d+)\//.exec(ref)?.[1] ?? ""),
  ),
  openPull: ["$EVENT_WORKFLOW_RUN_PULL_REQUESTS_0_NUMBER"],
  pullTitle: by(
    ["EVENT_PULL_REQUEST_TITLE", "EVENT_ISSUE_PULL_REQUEST_URL", "EVENT_ISSUE_TITLE"],
    (title, isPull, ofIssue) => title || isPull && ofIssue,
  ),
  pullHead: ["$EVENT_PULL_REQUEST_HEAD_SHA"],
  // The requests that a workflow_run names may be of another repository.
  searchesPull: by(
    [OF_RUN, "GITHUB_EVENT_NAME"],
    (run, event) => run || event === "push" ? "true" : "",
  ),
  author: ["$EVENT_WORKFLOW_RUN_HEAD_COMMIT_AUTHOR_NAME", "$EVENT_HEAD_COMMIT_AUTHOR_NAME"],
} satisfies Partial<Service>;

/** Their versions are the values of a matrix. */
const LANGUAGES_OF_TRAVIS = [
  "COMPILER",
  "DART_VERSION",
  "GO_VERSION",
  "HAXE_VERSION",
  "JDK_VERSION",
  "JULIA_VERSION",
  "NODE_VERSION",
  "OTP_RELEASE",
  "PERL_VERSION",
  "PHP_VERSION",
  "PYTHON_VERSION",
  "R_VERSION",
  "RUBY_VERSION",
  "RUST_VERSION",
  "SCALA_VERSION",
];

/** The first one that is present is used. */
export const SERVICES: readonly Service[] = [
  {
    title: "Gitea Actions",
    page: "https://docs.gitea.com/usage/actions/comparison",
    presence: ["GITEA_ACTIONS", "FORGEJO_ACTIONS"],
    ...GITHUB,
    // Its pages count the runs of a repository.
    buildUrl: by(
      [
        OF_RUN,
        "EVENT_WORKFLOW_RUN_HTML_URL",
        "GITHUB_SERVER_URL",
        "GITHUB_REPOSITORY",
        "GITHUB_RUN_NUMBER",
      ],
      (run, url, server, repository, number) => run ? url : runPage(server, repository, number),
    ),
  },
  {
    title: "GitHub Actions",
    page: "https://docs.github.com/en/actions/reference/workflows-and-actions/variables",
    presence: ["GITHUB_ACTIONS"],
    ...GITHUB,
    buildUrl: by(
      [
        OF_RUN,
        "EVENT_WORKFLOW_RUN_HTML_URL",
        "GITHUB_SERVER_URL",
        "GITHUB_REPOSITORY",
        "GITHUB_RUN_ID",
      ],
      (run, url, server, repository, id) =>
        run
          // The page of another attempt than the first one ends with its number.
          ? url.replace(/\/attempts\/\d+$/, "")
          : runPage(server || "https://github.com", repository, id),
    ),
  },
  {
    title: "GitLab CI",
    page: "https://docs.gitlab.com/ci/variables/predefined_variables/",
    presence: ["GITLAB_CI"],
    repository: ["$CI_PROJECT_PATH"],
    commit: ["$CI_COMMIT_SHA"],
    branch: ["$CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "$CI_COMMIT_BRANCH"],
    fork: ["$CI_MERGE_REQUEST_SOURCE_PROJECT_PATH"],
    // A merge train tests the target with the merge requests before this one.
    queueBase: by(
      ["CI_MERGE_REQUEST_EVENT_TYPE", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME"],
      (type, target) => type === "merge_train" ? target : "",
    ),
    folder: ["$CI_PROJECT_DIR"],
    environment: by(
      ["CI_RUNNER_EXECUTABLE_ARCH", "CI_JOB_NAME"],
      (arch, job) => [arch, matrixOf(job).replaceAll(/,\s*/g, " ")].join(" ").trim(),
    ),
    job: ["$CI_JOB_NAME"],
    fullJob: ["$CI_JOB_NAME"],
    // What distinguishes the child pipelines of a pipeline is in no variable but their ids.
    workflow: by(
      ["CI_PIPELINE_NAME", "CI_PIPELINE_SOURCE", "CI_PIPELINE_ID"],
      (name, source, id) => joined(name, source === "parent_pipeline" ? id : ""),
    ),
    runNumber: ["$CI_PIPELINE_ID"],
    jobNumber: ["$CI_JOB_ID"],
    shard: numbered({
      index: "CI_NODE_INDEX",
      total: "CI_NODE_TOTAL",
      first: 1,
      // `test: [node, 20]`; the job of `parallel: 4` is `test 1/4`.
      matrix: { variable: "CI_JOB_NAME", isOf: (job) => matrixOf(job) !== "" },
    }),
    runner: ["$CI_RUNNER_DESCRIPTION"],
    buildUrl: ["$CI_PIPELINE_URL"],
    repositoryUrl: ["$CI_PROJECT_URL"],
    defaultBranch: ["$CI_DEFAULT_BRANCH"],
    pullNumber: ["$CI_MERGE_REQUEST_IID"],
    // Such as acme/shop!7,acme/shop!9.
    openPull: by(["CI_OPEN_MERGE_REQUESTS"], (list) => list.split(",")[0]!.replace(/^.*!/, "")),
    pullTitle: ["$CI_MERGE_REQUEST_TITLE"],
    // Set in pipelines for merged results and in merge trains only.
    pullHead: ["$CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"],
    forge: by([], () => "GitLab"),
    projectId: ["$CI_PROJECT_ID"],
    author: ["$CI_COMMIT_AUTHOR"],
    // Reports may be artifacts of an earlier job of the pipeline.
    startedAt: ["$CI_PIPELINE_CREATED_AT", "$CI_JOB_STARTED_AT"],
  },
  {
    title: "CircleCI",
    page: "https://circleci.com/docs/variables/",
    presence: ["CIRCLECI"],
    repository: ["$CIRCLE_PROJECT_USERNAME/$CIRCLE_PROJECT_REPONAME"],
    commit: ["$CIRCLE_SHA1"],
    // pull/5 for a fork.
    branch: ["$CIRCLE_BRANCH"],
    folder: ["$CIRCLE_WORKING_DIRECTORY"],
    job: ["$CIRCLE_JOB"],
    shard: numbered({ index: "CIRCLE_NODE_INDEX", total: "CIRCLE_NODE_TOTAL", first: 0 }),
    buildUrl: by(["CIRCLE_WORKFLOW_ID", "CIRCLE_BUILD_URL"], (workflow, job) => {
      // The URL of one job; a self-hosted server has another host.
      const server = URL.parse(job)?.origin ?? "https://circleci.com";
      return workflow ? `${server}/workflow-run/${workflow}` : job;
    }),
    repositoryUrl: ["$CIRCLE_REPOSITORY_URL"],
    // Of a fork; a job of a branch of the repository tests a push.
    pullNumber: ["$CIRCLE_PR_NUMBER"],
    openPull: ["$CIRCLE_PULL_REQUEST"],
  },
  {
    title: "Buildkite",
    page: "https://buildkite.com/docs/pipelines/configure/environment-variables",
    presence: ["BUILDKITE"],
    commit: ["$BUILDKITE_COMMIT"],
    // For a tag, BUILDKITE_BRANCH is the tag.
    branch: by(["BUILDKITE_TAG", "BUILDKITE_BRANCH"], (tag, branch) => tag ? "" : branch),
    fork: by(
      ["BUILDKITE_PULL_REQUEST", "BUILDKITE_PULL_REQUEST_REPO"],
      (pull, repository) => pull === "false" ? "" : repository,
    ),
    queueBase: ["$BUILDKITE_MERGE_QUEUE_BASE_BRANCH"],
    folder: ["$BUILDKITE_BUILD_CHECKOUT_PATH"],
    job: ["$BUILDKITE_STEP_KEY", "$BUILDKITE_LABEL"],
    workflow: ["$BUILDKITE_PIPELINE_SLUG"],
    shard: numbered({
      index: "BUILDKITE_PARALLEL_JOB",
      total: "BUILDKITE_PARALLEL_JOB_COUNT",
      first: 0,
    }),
    attempt: by(["BUILDKITE_RETRY_COUNT"], countedFrom1),
    runner: ["$BUILDKITE_AGENT_NAME"],
    buildUrl: ["$BUILDKITE_BUILD_URL"],
    repositoryUrl: ["$BUILDKITE_REPO"],
    defaultBranch: ["$BUILDKITE_PIPELINE_DEFAULT_BRANCH"],
    pullNumber: ["$BUILDKITE_PULL_REQUEST"],
    author: ["$BUILDKITE_BUILD_AUTHOR"],
  },
  {
    title: "Travis CI",
    page: "https://docs.travis-ci.com/user/environment-variables/",
    presence: ["TRAVIS"],
    repository: ["$TRAVIS_REPO_SLUG"],
    commit: ["$TRAVIS_COMMIT"],
    branch: by(
      ["TRAVIS_PULL_REQUEST_BRANCH", "TRAVIS_TAG", "TRAVIS_BRANCH"],
      // For a tag, TRAVIS_BRANCH is the tag.
      (ofPull, tag, branch) => ofPull || (tag ? "" : branch),
    ),
    fork: ["$TRAVIS_PULL_REQUEST_SLUG"],
    folder: ["$TRAVIS_BUILD_DIR"],
    environment: by(
      [
        "TRAVIS_OS_NAME",
        "TRAVIS_CPU_ARCH",
        ...LANGUAGES_OF_TRAVIS.map((language) => `TRAVIS_${language}`),
      ],
      (os, architecture, ...versions) =>
        [
          [os, architecture].filter(Boolean).join("-"),
          ...versions.map((version, index) =>
            version && `${LANGUAGES_OF_TRAVIS[index]!.replace(/_.*$/, "").toLowerCase()} ${version}`
          ),
        ].filter(Boolean).join(" "),
    ),
    job: ["$TRAVIS_JOB_NAME"],
    buildUrl: ["$TRAVIS_BUILD_WEB_URL", "$TRAVIS_JOB_WEB_URL"],
    pullNumber: ["$TRAVIS_PULL_REQUEST"],
  },
  {
    title: "Semaphore",
    page: "https://docs.semaphoreci.com/reference/env-vars",
    presence: ["SEMAPHORE"],
    repository: ["$SEMAPHORE_GIT_REPO_SLUG"],
    commit: ["$SEMAPHORE_GIT_SHA"],
    branch: by(
      ["SEMAPHORE_GIT_PR_BRANCH", "SEMAPHORE_GIT_REF_TYPE", "SEMAPHORE_GIT_BRANCH"],
      (ofPull, type, branch) => ofPull || (["", "branch"].includes(type) ? branch : ""),
    ),
    fork: ["$SEMAPHORE_GIT_PR_SLUG"],
    folder: ["$SEMAPHORE_GIT_DIR"],
    environment: ["$SEMAPHORE_AGENT_MACHINE_OS_IMAGE"],
    job: ["$SEMAPHORE_JOB_NAME"],
    workflow: by(
      ["SEMAPHORE_PROJECT_NAME", "SEMAPHORE_PIPELINE_NAME", "SEMAPHORE_BLOCK_NAME"],
      joined,
    ),
    shard: numbered({ index: "SEMAPHORE_JOB_INDEX", total: "SEMAPHORE_JOB_COUNT", first: 1 }),
    buildUrl: ["$SEMAPHORE_ORGANIZATION_URL/workflows/$SEMAPHORE_WORKFLOW_ID"],
    repositoryUrl: ["$SEMAPHORE_GIT_URL"],
    pullNumber: ["$SEMAPHORE_GIT_PR_NUMBER"],
    pullTitle: ["$SEMAPHORE_GIT_PR_NAME"],
    author: ["$SEMAPHORE_GIT_COMMIT_AUTHOR"],
    startedAt: ["$SEMAPHORE_JOB_CREATION_TIME"],
  },
  {
    title: "Azure Pipelines",
    page: "https://learn.microsoft.com/en-us/azure/devops/pipelines/build/variables",
    presence: ["TF_BUILD"],
    repository: by(
      ["BUILD_REPOSITORY_NAME", "SYSTEM_TEAMPROJECT"],
      // In Azure Repos the project is the owner.
      (name, project) => name.includes("/") || name === "" ? name : project && `${project}/${name}`,
    ),
    commit: ["$BUILD_SOURCEVERSION"],
    branch: by(
      ["SYSTEM_PULLREQUEST_SOURCEBRANCH", "BUILD_SOURCEBRANCH"],
      (ofPull, branch) =>
        ofPull.startsWith("refs/") ? branchOf(ofPull) : ofPull || branchOf(branch),
    ),
    fork: by(
      ["SYSTEM_PULLREQUEST_ISFORK", "SYSTEM_PULLREQUEST_SOURCEREPOSITORYURI"],
      (isFork, address) => /^true$/i.test(isFork) ? address : "",
    ),
    folder: ["$BUILD_SOURCESDIRECTORY"],
    environment: by(
      [
        "AGENT_OS",
        "AGENT_OSARCHITECTURE",
        "SYSTEM_PARALLELEXECUTIONTYPE",
        "SYSTEM_JOBNAME",
      ],
      (os, architecture, type, leg) =>
        [[os, architecture].filter(Boolean).join("-"), isAzureMatrix(type) ? leg : ""]
          .join(" ").trim(),
    ),
    // The job of the pipeline; the jobs of a matrix have the name of their leg.
    job: ["$SYSTEM_PHASENAME"],
    workflow: ["$BUILD_DEFINITIONNAME"],
    shard: numbered({
      index: "SYSTEM_JOBPOSITIONINPHASE",
      total: "SYSTEM_TOTALJOBSINPHASE",
      // By the scripts of microsoft/azure-pipelines-tasks.
      first: 1,
      // `MultiMachine` with `parallel`.
      matrix: { variable: "SYSTEM_PARALLELEXECUTIONTYPE", isOf: isAzureMatrix },
    }),
    // Running a stage again increments its number; the number of a job may stay behind.
    attempt: by(
      ["SYSTEM_STAGEATTEMPT", "SYSTEM_JOBATTEMPT"],
      (ofStage, ofJob) => String(Math.max(Number(ofStage), Number(ofJob)) || ""),
    ),
    runner: ["$AGENT_NAME"],
    buildUrl: by(
      [
        "SYSTEM_TEAMFOUNDATIONCOLLECTIONURI",
        "SYSTEM_COLLECTIONURI",
        "SYSTEM_TEAMPROJECT",
        "BUILD_BUILDID",
      ],
      (first, second, project, build) => {
        // Ends with a slash; project names may contain spaces.
        const collection = first || second;
        return collection && project && build &&
          `${collection.replace(/\/$/, "")}/${encodeURIComponent(project)}` +
            `/_build/results?buildId=${build}`;
      },
    ),
    repositoryUrl: ["$BUILD_REPOSITORY_URI"],
    pullNumber: ["$SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "$SYSTEM_PULLREQUEST_PULLREQUESTID"],
    forge: by(
      ["BUILD_REPOSITORY_PROVIDER"],
      (provider) => provider === "TfsGit" ? "Azure Repos" : "",
    ),
    author: ["$BUILD_SOURCEVERSIONAUTHOR"],
  },
  {
    title: "Bitbucket Pipelines",
    page: "https://support.atlassian.com/bitbucket-cloud/docs/variables-and-secrets/",
    presence: ["BITBUCKET_BUILD_NUMBER"],
    repository: ["$BITBUCKET_REPO_FULL_NAME"],
    commit: ["$BITBUCKET_COMMIT"],
    branch: ["$BITBUCKET_BRANCH"],
    targetBranch: ["$BITBUCKET_PR_DESTINATION_BRANCH"],
    folder: ["$BITBUCKET_CLONE_DIR"],
    // Steps have no name in the variables.
    shard: numbered({
      index: "BITBUCKET_PARALLEL_STEP",
      total: "BITBUCKET_PARALLEL_STEP_COUNT",
      first: 0,
    }),
    attempt: ["$BITBUCKET_STEP_RUN_NUMBER"],
    buildUrl: [
      "https://bitbucket.org/$BITBUCKET_REPO_FULL_NAME/pipelines/results/$BITBUCKET_BUILD_NUMBER",
    ],
    repositoryUrl: ["$BITBUCKET_GIT_HTTP_ORIGIN"],
    pullNumber: ["$BITBUCKET_PR_ID"],
    forge: by([], () => "Bitbucket"),
  },
  {
    title: "AWS CodeBuild",
    page: "https://docs.aws.amazon.com/codebuild/latest/userguide/build-env-ref-env-vars.html",
    presence: ["CODEBUILD_BUILD_ID"],
    commit: ["$CODEBUILD_RESOLVED_SOURCE_VERSION"],
    branch: by(
      ["CODEBUILD_WEBHOOK_HEAD_REF", "CODEBUILD_SOURCE_VERSION", "CODEBUILD_WEBHOOK_TRIGGER"],
      (ref, version, trigger) =>
        branchOf(ref || version) ||
        (trigger.startsWith("branch/") ? trigger.slice("branch/".length) : ""),
    ),
    targetBranch: by(["CODEBUILD_WEBHOOK_BASE_REF"], branchOf),
    folder: ["$CODEBUILD_SRC_DIR"],
    job: ["$CODEBUILD_BATCH_BUILD_IDENTIFIER"],
    // The project, and the number of the build in it.
    workflow: by(["CODEBUILD_BUILD_ID"], (id) => id.replace(/:[^:]*$/, "")),
    buildUrl: ["$CODEBUILD_BUILD_URL"],
    repositoryUrl: ["$CODEBUILD_SOURCE_REPO_URL"],
    pullNumber: by(
      ["CODEBUILD_WEBHOOK_TRIGGER"],
      (trigger) => trigger.startsWith("pr/") ? trigger : "",
    ),
    startedAt: ["$CODEBUILD_START_TIME"],
  },
  {
    title: "Cirrus CI",
    page: "https://cirrus-ci.org/guide/writing-tasks/#environment-variables",
    presence: ["CIRRUS_CI"],
    repository: ["$CIRRUS_REPO_FULL_NAME"],
    commit: ["$CIRRUS_CHANGE_IN_REPO"],
    // pull/5 for a pull request, the tag for a tag.
    branch: by(["CIRRUS_TAG", "CIRRUS_BRANCH"], (tag, branch) => tag ? "" : branch),
    folder: ["$CIRRUS_WORKING_DIR"],
    environment: ["$CIRRUS_OS-$CIRRUS_ARCH", "$CIRRUS_OS"],
    job: ["$CIRRUS_TASK_NAME"],
    buildUrl: ["https://cirrus-ci.com/build/$CIRRUS_BUILD_ID"],
    repositoryUrl: ["$CIRRUS_REPO_CLONE_URL"],
    defaultBranch: ["$CIRRUS_DEFAULT_BRANCH"],
    pullNumber: ["$CIRRUS_PR"],
    pullTitle: by(["CIRRUS_PR", "CIRRUS_CHANGE_TITLE"], (pull, title) => pull && title),
  },
  {
    // The variables of nodes have GitLab's names and count from another number. It has no checkout.
    title: "Heroku CI",
    page: "https://devcenter.heroku.com/articles/heroku-ci-parallel-test-runs",
    presence: ["HEROKU_TEST_RUN_ID"],
    commit: ["$HEROKU_TEST_RUN_COMMIT_VERSION"],
    branch: ["$HEROKU_TEST_RUN_BRANCH"],
    shard: numbered({ index: "CI_NODE_INDEX", total: "CI_NODE_TOTAL", first: 0 }),
    buildUrl: [],
  },
  {
    // It sets variables of Drone, too.
    title: "Woodpecker CI",
    page: "https://woodpecker-ci.org/docs/usage/environment",
    presence: ["CI=woodpecker"],
    repository: ["$CI_REPO"],
    commit: ["$CI_COMMIT_SHA"],
    branch: by(
      ["CI_COMMIT_SOURCE_BRANCH", "CI_COMMIT_TAG", "CI_COMMIT_BRANCH"],
      (source, tag, branch) => source || (tag ? "" : branch),
    ),
    targetBranch: ["$CI_COMMIT_TARGET_BRANCH"],
    folder: ["$CI_WORKSPACE"],
    environment: ["$CI_SYSTEM_PLATFORM"],
    job: ["$CI_WORKFLOW_NAME $CI_STEP_NAME", "$CI_WORKFLOW_NAME"],
    attempt: ONLY_ATTEMPT,
    runner: ["$CI_MACHINE"],
    buildUrl: ["$CI_PIPELINE_URL"],
    repositoryUrl: ["$CI_REPO_URL"],
    defaultBranch: ["$CI_REPO_DEFAULT_BRANCH"],
    pullNumber: ["$CI_COMMIT_PULL_REQUEST"],
    author: ["$CI_COMMIT_AUTHOR"],
    startedAt: ["$CI_PIPELINE_STARTED", "$CI_STEP_STARTED"],
  },
  {
    title: "Drone",
    page: "https://docs.drone.io/pipeline/environment/reference/",
    presence: ["DRONE"],
    repository: ["$DRONE_REPO"],
    commit: ["$DRONE_COMMIT_SHA"],
    branch: by(
      ["DRONE_PULL_REQUEST", "DRONE_SOURCE_BRANCH", "DRONE_TAG", "DRONE_BRANCH"],
      (pull, source, tag, branch) => pull && source || (tag ? "" : branch),
    ),
    targetBranch: ["$DRONE_TARGET_BRANCH"],
    folder: ["$DRONE_WORKSPACE"],
    environment: ["$DRONE_STAGE_OS-$DRONE_STAGE_ARCH"],
    job: ["$DRONE_STAGE_NAME $DRONE_STEP_NAME", "$DRONE_STAGE_NAME"],
    runner: ["$DRONE_STAGE_MACHINE"],
    buildUrl: ["$DRONE_BUILD_LINK"],
    repositoryUrl: ["$DRONE_REPO_LINK"],
    defaultBranch: ["$DRONE_REPO_BRANCH"],
    pullNumber: ["$DRONE_PULL_REQUEST"],
    pullTitle: ["$DRONE_PULL_REQUEST_TITLE"],
    author: ["$DRONE_COMMIT_AUTHOR_NAME", "$DRONE_COMMIT_AUTHOR"],
    startedAt: ["$DRONE_STAGE_STARTED"],
  },
  {
    // Repository and branch are in no variable: the checkout names them.
    title: "TeamCity",
    page: "https://www.jetbrains.com/help/teamcity/predefined-build-parameters.html",
    presence: ["TEAMCITY_VERSION"],
    commit: ["$BUILD_VCS_NUMBER"],
    branch: [],
    job: ["$TEAMCITY_PROJECT_NAME $TEAMCITY_BUILDCONF_NAME", "$TEAMCITY_BUILDCONF_NAME"],
    buildUrl: ["$BUILD_URL"],
  },
  {
    // Last: child processes of an agent may inherit its variables.
    title: "Jenkins",
    page: "https://www.jenkins.io/doc/book/pipeline/jenkinsfile/#using-environment-variables",
    presence: ["JENKINS_URL", "JENKINS_HOME"],
    commit: ["$GIT_COMMIT"],
    branch: by(
      ["CHANGE_BRANCH", "TAG_NAME", "BRANCH_NAME", "GIT_BRANCH"],
      // For a tag, BRANCH_NAME is the tag.
      (ofPull, tag, branch, remote) => tag ? "" : ofPull || branch || remote,
    ),
    targetBranch: ["$CHANGE_TARGET"],
    fork: ["$CHANGE_FORK"],
    folder: ["$WORKSPACE"],
    job: by(["JOB_NAME", "BRANCH_NAME", "STAGE_NAME"], (name, branch, stage) => {
      // In a multibranch pipeline, the last part is the branch.
      const job = branch ? name.replace(/\/[^/]*$/, "") : name;
      return [job, stage].filter((text) => text !== "").join(" ");
    }),
    attempt: ONLY_ATTEMPT,
    runner: ["$NODE_NAME"],
    buildUrl: ["$BUILD_URL"],
    repositoryUrl: ["$GIT_URL", "$GIT_URL_1"],
    defaultBranch: by(
      ["BRANCH_IS_PRIMARY", "BRANCH_NAME"],
      (isPrimary, branch) => isPrimary === "true" ? branch : "",
    ),
    pullNumber: ["$CHANGE_ID"],
    pullTitle: ["$CHANGE_TITLE"],
    author: ["$CHANGE_AUTHOR_DISPLAY_NAME", "$CHANGE_AUTHOR"],
  },
];

function by(names: readonly string[], read: (...values: string[]) => string): Computed {
  return { names, read };
}

function joined(...texts: string[]): string {
  return texts.filter((text) => text !== "").join(" ");
}

function runPage(server: string, repository: string, run: string): string {
  return server && repository && run && `${server}/${repository}/actions/runs/${run}`;
}

/** The values of GitLab's matrix at the end of the job's name, as in `test: [linux, 20]`. */
function matrixOf(job: string): string {
  return /\[([^\]]*)\]$/.exec(job)?.[1] ?? "";
}

function isAzureMatrix(type: string): boolean {
  return /^multiconfiguration$/i.test(type);
}

/** The shard of a node, counted from 1. */
function numbered(nodes: Nodes): NumberedShard {
  const { index, total, first, matrix } = nodes;
  return {
    nodes,
    names: [index, total, ...matrix ? [matrix.variable] : []],
    read: (index = "", total = "", ofMatrix = "") =>
      matrix?.isOf(ofMatrix) ? "" : shardOf(first === 0 ? countedFrom1(index) : index, total),
  };
}

/** `""` for the only one. */
function shardOf(index: string, total: string): string {
  return Number(total) > 1 && index !== "" ? `${index}/${total}` : "";
}

function countedFrom1(count: string): string {
  return /^\d{1,9}$/.test(count) ? String(Number(count) + 1) : "";
}
