/** `services.ts`: what variables change in the example of their service. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { UNKNOWN_RUN } from "../../../lib/ci/mod.ts";
import { detectCiJob } from "../../../lib/intake/checkout/mod.ts";
import { SERVICES } from "../../../lib/ci/services.ts";
import type { Environment } from "../../../lib/base/config.ts";
import { examples } from "./examples.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const TREE = "76543210fedcba9876543210fedcba9876543210";
const noGit = (_args: string[]) => Promise.resolve("");

type Job = NonNullable<Awaited<ReturnType<typeof detectCiJob>>>;
type Changes = Record<string, string | undefined>;

/** The example of a service with other variables; those that are undefined are not set. */
function variablesOf(service: string, changes: Changes): Environment {
  const all = Object.entries({ ...examples(SHA)[service]!.variables, ...changes });
  return Object.fromEntries(all.filter(([, value]) => value !== undefined)) as Environment;
}

async function jobOf(environment: Environment, git = noGit): Promise<Job> {
  const job = await detectCiJob(environment, git);
  assert.ok(job);
  return job;
}

/** Parts of a job, those that are expected. */
const partOf = (job: Job, expected: Partial<Job>) =>
  Object.fromEntries(Object.keys(expected).map((key) => [key, job[key as keyof Job]]));

/** A pull request's branch, of a fork whose owner the service does not name. */
const FORKS: Record<string, Changes> = {
  "Jenkins": { CHANGE_FORK: undefined, CHANGE_TARGET: "main", CHANGE_BRANCH: "fix" },
  "AWS CodeBuild": {
    CODEBUILD_WEBHOOK_HEAD_REF: "refs/heads/fix",
    CODEBUILD_WEBHOOK_BASE_REF: "refs/heads/main",
  },
  "Bitbucket Pipelines": { BITBUCKET_BRANCH: "fix", BITBUCKET_PR_DESTINATION_BRANCH: "main" },
  "Drone": {
    DRONE_PULL_REQUEST: "5",
    DRONE_SOURCE_BRANCH: "fix",
    DRONE_TARGET_BRANCH: "main",
    DRONE_REPO_BRANCH: undefined,
  },
  "Woodpecker CI": {
    CI_COMMIT_SOURCE_BRANCH: "fix",
    CI_COMMIT_TARGET_BRANCH: "main",
    CI_REPO_DEFAULT_BRANCH: undefined,
  },
};

const NO_CHANGE = {
  CHANGE_ID: undefined,
  CHANGE_BRANCH: undefined,
  CHANGE_FORK: undefined,
  BRANCH_NAME: undefined,
};
const PUSH_TO_BUILDKITE = { BUILDKITE_PULL_REQUEST: "false", BUILDKITE_PULL_REQUEST_REPO: "" };

const PUSH_TO_TRAVIS = {
  TRAVIS_PULL_REQUEST: "false",
  TRAVIS_PULL_REQUEST_BRANCH: "",
  TRAVIS_PULL_REQUEST_SLUG: "",
};
const PUSH_TO_SEMAPHORE = {
  SEMAPHORE_GIT_REF_TYPE: "branch",
  SEMAPHORE_GIT_PR_BRANCH: undefined,
  SEMAPHORE_GIT_PR_SLUG: undefined,
  SEMAPHORE_GIT_PR_NUMBER: undefined,
};

const CASES: [service: string, what: string, changes: Changes, expected: Partial<Job>][] = [
  [
    "GitHub Actions",
    "another attempt, of the same build",
    { GITHUB_RUN_ATTEMPT: "3" },
    { attempt: "3", buildUrl: "https://github.example/acme/shop/actions/runs/77" },
  ],
  [
    "GitHub Actions",
    "a pull request: its branch, and the merge commit that was tested",
    {
      GITHUB_EVENT_NAME: "pull_request",
      GITHUB_REF: "refs/pull/5/merge",
      GITHUB_HEAD_REF: "fix",
    },
    { branch: "fix", commit: SHA },
  ],
  [
    "GitHub Actions",
    "pull_request_target: the head's branch",
    {
      GITHUB_EVENT_NAME: "pull_request_target",
      GITHUB_REF: "refs/heads/main",
      GITHUB_HEAD_REF: "fix",
    },
    { branch: "fix" },
  ],
  ["GitHub Actions", "a tag: no branch", { GITHUB_REF: "refs/tags/v1" }, { branch: "" }],
  [
    "GitHub Actions",
    "no matrix: an environment of system and processor",
    { MATRIX: undefined },
    { environment: "Linux-X64", job: "unit", shard: "" },
  ],
  [
    "GitHub Actions",
    "what a comment says of its job: workflow, run and attempt",
    {
      GITHUB_WORKFLOW: "CI",
      GITHUB_RUN_ID: "18446744073",
      EVENT_PULL_REQUEST_HEAD_SHA: TREE,
    },
    { workflow: "CI", fullJob: "", pullHead: TREE, order: [18446744073, 2], projectId: "" },
  ],
  [
    "GitLab CI",
    "a branch",
    {
      CI_COMMIT_BRANCH: "main",
      CI_MERGE_REQUEST_IID: undefined,
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: undefined,
      CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: undefined,
    },
    { repository: "acme/web/shop", commit: SHA, branch: "main" },
  ],
  [
    "GitLab CI",
    "a merge request of the same project",
    {
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "fix",
      CI_MERGE_REQUEST_SOURCE_PROJECT_PATH: undefined,
    },
    { branch: "fix" },
  ],
  [
    "GitLab CI",
    "a parallel job",
    { CI_JOB_NAME: "rspec 2/4", CI_NODE_INDEX: "2", CI_NODE_TOTAL: "4" },
    { environment: "linux/amd64", job: "rspec", shard: "2/4" },
  ],
  [
    "GitLab CI",
    "what a comment says of its job: the name with its shard, and the author's commit",
    {
      CI_JOB_NAME: "test 1/4",
      CI_PIPELINE_ID: "70",
      CI_JOB_ID: "9001",
      CI_PROJECT_ID: "42",
      CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: TREE,
    },
    { workflow: "", fullJob: "test 1/4", pullHead: TREE, order: [70, 9001], projectId: "42" },
  ],
  [
    "CircleCI",
    "a self-hosted server",
    { CIRCLE_BUILD_URL: "https://circleci.example/gh/acme/shop/12" },
    { buildUrl: "https://circleci.example/workflow-run/8f2c" },
  ],
  [
    "CircleCI",
    "no workflow and no user: the job as the build, the repository of the URL",
    { CIRCLE_WORKFLOW_ID: undefined, CIRCLE_PROJECT_USERNAME: undefined },
    {
      repository: "acme/shop",
      commit: SHA,
      buildUrl: "https://circleci.com/gh/acme/shop/12",
    },
  ],
  ["CircleCI", "no parallelism: no shard", { CIRCLE_NODE_TOTAL: "1" }, { job: "unit", shard: "" }],
  [
    "CircleCI",
    "a job with a long name: 100 characters",
    { CIRCLE_JOB: "🚀".repeat(101) },
    { job: "🚀".repeat(100) },
  ],
  [
    "Buildkite",
    "a branch, of a repository over SSH",
    { ...PUSH_TO_BUILDKITE, BUILDKITE_REPO: "git@github.com:acme/shop.git" },
    {
      repository: "acme/shop",
      repositoryUrl: "https://github.com/acme/shop",
      commit: SHA,
      branch: "main",
      order: [0, 0],
    },
  ],
  [
    "Buildkite",
    "a tag: no branch",
    { ...PUSH_TO_BUILDKITE, BUILDKITE_BRANCH: "v1", BUILDKITE_TAG: "v1" },
    { branch: "" },
  ],
  [
    "Buildkite",
    "a retry, which has no order because runs have no number",
    { BUILDKITE_LABEL: ":rspec: tests", BUILDKITE_RETRY_COUNT: "3" },
    { job: ":rspec: tests", attempt: "4", order: [0, 0] },
  ],
  [
    "Travis CI",
    "a branch",
    { ...PUSH_TO_TRAVIS, TRAVIS_OS_NAME: "windows" },
    { repository: "acme/shop", commit: SHA, branch: "main", environment: "windows-amd64" },
  ],
  [
    "Travis CI",
    "a pull request whose repository is not named",
    { TRAVIS_PULL_REQUEST_SLUG: undefined },
    { branch: "fix" },
  ],
  [
    "Travis CI",
    "a tag: no branch",
    { ...PUSH_TO_TRAVIS, TRAVIS_TAG: "v1", TRAVIS_BRANCH: "v1" },
    { branch: "" },
  ],
  [
    "Travis CI",
    "a matrix: an environment for each version of a language",
    { TRAVIS_PYTHON_VERSION: "3.8" },
    { environment: "linux-amd64 python 3.8" },
  ],
  [
    "Travis CI",
    "a matrix of two languages",
    { TRAVIS_NODE_VERSION: "20", TRAVIS_RUBY_VERSION: "3.3" },
    { environment: "linux-amd64 node 20 ruby 3.3" },
  ],
  [
    "Semaphore",
    "a branch, of a repository over SSH",
    {
      ...PUSH_TO_SEMAPHORE,
      SEMAPHORE_GIT_URL: "ssh://git@github.com/acme/shop.git",
    },
    {
      repository: "acme/shop",
      repositoryUrl: "https://github.com/acme/shop",
      commit: SHA,
      branch: "main",
    },
  ],
  ["Semaphore", "a tag: no branch", { ...PUSH_TO_SEMAPHORE, SEMAPHORE_GIT_REF_TYPE: "tag" }, {
    branch: "",
  }],
  [
    "Semaphore",
    "no index of a job: its name without the shard",
    { SEMAPHORE_JOB_INDEX: "" },
    { job: "Tests", shard: "" },
  ],
  [
    "Azure Pipelines",
    "a repository in Azure Repos, of a server before 2019",
    {
      BUILD_REPOSITORY_NAME: "shop",
      SYSTEM_TEAMPROJECT: "Web Team",
      SYSTEM_COLLECTIONURI: undefined,
      SYSTEM_TEAMFOUNDATIONCOLLECTIONURI: "https://dev.azure.com/acme/",
    },
    {
      repository: "Web Team/shop",
      commit: SHA,
      buildUrl: "https://dev.azure.com/acme/Web%20Team/_build/results?buildId=11",
    },
  ],
  [
    "Azure Pipelines",
    "a pull request to an external repository",
    {
      BUILD_SOURCEBRANCH: "refs/pull/5/merge",
      SYSTEM_PULLREQUEST_SOURCEBRANCH: "refs/heads/fix",
    },
    { repository: "acme/shop", branch: "fix" },
  ],
  [
    "Azure Pipelines",
    "jobs that share the tests of a phase",
    {
      AGENT_OS: "Windows_NT",
      SYSTEM_PARALLELEXECUTIONTYPE: undefined,
      SYSTEM_JOBNAME: undefined,
    },
    { environment: "Windows_NT-X64", job: "unit", shard: "2/3" },
  ],
  [
    "Bitbucket Pipelines",
    "a branch",
    { BITBUCKET_PR_ID: undefined },
    { repository: "acme/shop", commit: SHA, branch: "main" },
  ],
  [
    "AWS CodeBuild",
    "a branch",
    {
      CODEBUILD_WEBHOOK_TRIGGER: undefined,
      CODEBUILD_WEBHOOK_HEAD_REF: "refs/heads/main",
    },
    { repository: "acme/shop", commit: SHA, branch: "main" },
  ],
  [
    "AWS CodeBuild",
    "CodeCommit, which has no owners: no repository",
    {
      CODEBUILD_SOURCE_REPO_URL: "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop",
    },
    { repository: "" },
  ],
  [
    "Cirrus CI",
    "a tag: no branch",
    { CIRRUS_PR: undefined, CIRRUS_BRANCH: "v1", CIRRUS_TAG: "v1" },
    { branch: "" },
  ],
  [
    "Jenkins",
    "a job: the branch of the checkout",
    { ...NO_CHANGE, GIT_BRANCH: "origin/main", JOB_NAME: "shop/unit", STAGE_NAME: undefined },
    { repository: "acme/shop", commit: SHA, branch: "main", job: "shop/unit" },
  ],
  [
    "Jenkins",
    "a multibranch job",
    { ...NO_CHANGE, BRANCH_NAME: "dev" },
    { branch: "dev" },
  ],
  [
    "Jenkins",
    "a change",
    { ...NO_CHANGE, BRANCH_NAME: "PR-5", CHANGE_BRANCH: "fix" },
    { branch: "fix", job: "shop Test" },
  ],
  [
    "Jenkins",
    "a tag: no branch",
    { ...NO_CHANGE, BRANCH_NAME: "v1", TAG_NAME: "v1" },
    { branch: "" },
  ],
  [
    "Jenkins",
    "a commit at no branch",
    { ...NO_CHANGE, GIT_BRANCH: "detached" },
    { branch: "" },
  ],
  [
    "Jenkins",
    "a fork that it names, whose branch is called as the base",
    { CHANGE_TARGET: "main" },
    { branch: "fork-er:main" },
  ],
];

describe("a job of", () => {
  for (const [service, what, changes, expected] of CASES) {
    it(`${service}: ${what}`, async () => {
      assert.deepEqual(partOf(await jobOf(variablesOf(service, changes)), expected), expected);
    });
  }

  const urls = {
    "GitLab CI": "CI_PROJECT_URL",
    "CircleCI": "CIRCLE_REPOSITORY_URL",
    "Semaphore": "SEMAPHORE_GIT_URL",
    "Bitbucket Pipelines": "BITBUCKET_GIT_HTTP_ORIGIN",
  };
  for (const [service, url] of Object.entries(urls)) {
    it(`${service}: the repository by its name if its URL is not set`, async () => {
      const { repository } = examples(SHA)[service]!.expected;
      assert.equal(
        (await jobOf(variablesOf(service, { [url]: undefined }))).repository,
        repository,
      );
    });
  }

  for (const [service, changes] of Object.entries(FORKS)) {
    it(`${service}: no branch for a fork's branch that is called as the base`, async () => {
      assert.equal((await jobOf(variablesOf(service, changes))).branch, "fix");
      const sameName = Object.entries(changes).map(([name, value]) =>
        [name, value?.replace("fix", "main")] as const
      );
      const job = await jobOf(variablesOf(service, Object.fromEntries(sameName)));
      assert.equal(job.branch, "");
    });
  }
});

describe("the attempt of a job of Azure Pipelines", () => {
  // "Rerun failed jobs" counts both.
  const attempts: [stage: string | undefined, job: string | undefined, expected: string][] = [
    ["1", "1", "1"],
    ["2", "1", "2"],
    ["1", "2", "2"],
    ["10", "9", "10"],
    [undefined, "3", "3"],
    [undefined, undefined, ""],
  ];
  for (const [SYSTEM_STAGEATTEMPT, SYSTEM_JOBATTEMPT, expected] of attempts) {
    it(`is "${expected}" in ${SYSTEM_STAGEATTEMPT} of the stage, ${SYSTEM_JOBATTEMPT} of the job`, async () => {
      const changes = { SYSTEM_STAGEATTEMPT, SYSTEM_JOBATTEMPT };
      assert.equal((await jobOf(variablesOf("Azure Pipelines", changes))).attempt, expected);
    });
  }
});

describe("what the variables do not say is asked of git", () => {
  it("a commit that Buildkite only calls HEAD", async () => {
    const git = (args: string[]) => Promise.resolve(args.at(-1) === "HEAD" ? SHA : "");
    const environment = { BUILDKITE: "true", BUILDKITE_COMMIT: "HEAD" };
    assert.equal((await jobOf(environment, git)).commit, SHA);
  });

  it("repository and commit, which a pipeline of Jenkins does not export", async () => {
    const git = (args: string[]) =>
      Promise.resolve(args[0] === "config" ? "git@git.example:acme/shop.git" : SHA);
    const job = await jobOf({ JENKINS_HOME: "/var/jenkins" }, git);
    assert.deepEqual([job.repository, job.commit], ["acme/shop", SHA]);
  });

  it("the page of the repository, without credentials", async () => {
    const git = (args: string[]) =>
      Promise.resolve(args[0] === "config" ? "https://x:secret@git.example/acme/shop.git" : "");
    const job = await jobOf({ TRAVIS: "true", TRAVIS_REPO_SLUG: "acme/shop" }, git);
    assert.equal(job.repositoryUrl, "https://git.example/acme/shop");
  });

  it("the commit where the job names something else, and its tree", async () => {
    const asked: string[] = [];
    const git = (args: string[]) => {
      asked.push(args.join(" "));
      return Promise.resolve(args.at(-1) === "HEAD" ? SHA : TREE);
    };
    const environment = {
      GITLAB_CI: "true",
      CI_PROJECT_PATH: "a/b",
      CI_PROJECT_URL: "https://gitlab.example/a/b",
      CI_COMMIT_SHA: SHA,
    };
    assert.equal((await jobOf(environment, git)).tree, TREE);
    assert.deepEqual(asked, [
      "rev-parse --verify --quiet HEAD",
      `rev-parse --verify --quiet ${SHA}^{tree}`,
      "config --get remote.origin.url",
      "rev-parse --show-toplevel",
    ]);
    const hostile = { ...environment, CI_COMMIT_SHA: "--upload-pack=x" };
    assert.equal((await jobOf(hostile, git)).commit, SHA);
    assert.ok(!asked.some((line) => line.includes("upload-pack")));
  });
});

describe("detecting CI", () => {
  it("finds nothing outside of it, nor in variables that are empty", async () => {
    assert.equal(await detectCiJob({ HOME: "/root", CI: "true" }, noGit), null);
    assert.equal(await detectCiJob({ GITHUB_ACTIONS: "", JENKINS_URL: "" }, noGit), null);
  });

  it("finds Jenkins only where no other service is found", async () => {
    const job = await jobOf({ ...variablesOf("Jenkins", {}), GITLAB_CI: "true" });
    assert.equal(job.title, "GitLab CI");
  });

  it("leaves missing facts empty", async () => {
    assert.deepEqual(await jobOf({ GITLAB_CI: "true" }), {
      ...UNKNOWN_RUN,
      title: "GitLab CI",
      forge: "GitLab",
      searchesPull: false,
      notes: [],
      projectId: "",
      workflow: "",
      fullJob: "",
      pullHead: "",
      order: [0, 0],
    });
  });

  it("knows the services without an environment that the guide names", async () => {
    const guide = await Deno.readTextFile(new URL("../../../docs/guides/ci.md", import.meta.url));
    const [, list = ""] = /No environment at all is detected on ([^.]*)\./.exec(guide) ?? [];
    assert.deepEqual(
      list.replaceAll(/\s+/g, " ").split(/, | and /),
      SERVICES.filter(({ environment }) => !environment).map(({ title }) => title),
    );
  });
});
