/** `services.ts`, each service with the variables that it sets. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { type DetectedRun, UNKNOWN_RUN } from "../../../lib/ci/mod.ts";
import { detectCiJob } from "../../../lib/intake/checkout/mod.ts";
import { SERVICES } from "../../../lib/ci/services.ts";
import type { Environment } from "../../../lib/base/config.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const TREE = "76543210fedcba9876543210fedcba9876543210";
const noGit = () => Promise.resolve("");

/** Which code was tested, and the build. */
async function factsOf(
  environment: Environment,
): Promise<Pick<DetectedRun, "repository" | "commit" | "branch" | "buildUrl">> {
  const job = await detectCiJob(environment, noGit);
  assert.ok(job);
  const { repository, commit, branch, buildUrl } = job;
  return { repository, commit, branch, buildUrl };
}

describe("the environment of GitHub Actions", () => {
  const push = {
    GITHUB_ACTIONS: "true",
    GITHUB_EVENT_NAME: "push",
    GITHUB_REPOSITORY: "acme/shop",
    GITHUB_SERVER_URL: "https://github.example",
    GITHUB_SHA: SHA,
    GITHUB_REF: "refs/heads/feature/x",
    GITHUB_HEAD_REF: "",
    GITHUB_RUN_ID: "77",
    GITHUB_RUN_ATTEMPT: "2",
  };
  const expected = {
    repository: "acme/shop",
    commit: SHA,
    branch: "feature/x",
    buildUrl: "https://github.example/acme/shop/actions/runs/77",
  };

  it("has all facts of a push, and the same build for another attempt", async () => {
    assert.deepEqual(await factsOf(push), expected);
    assert.deepEqual(await factsOf({ ...push, GITHUB_RUN_ATTEMPT: "3" }), expected);
  });

  it("has the branch of a pull request, and the merge commit that was tested", async () => {
    const environment = {
      ...push,
      GITHUB_EVENT_NAME: "pull_request",
      GITHUB_REF: "refs/pull/5/merge",
      GITHUB_HEAD_REF: "fix",
    };
    assert.deepEqual(await factsOf(environment), { ...expected, branch: "fix" });
  });

  it("has the head's branch of pull_request_target, whose commit is the base's", async () => {
    const environment = {
      ...push,
      GITHUB_EVENT_NAME: "pull_request_target",
      GITHUB_REF: "refs/heads/main",
      GITHUB_HEAD_REF: "fix",
    };
    assert.equal((await factsOf(environment)).branch, "fix");
  });

  it("has no branch for a tag", async () => {
    assert.equal((await factsOf({ ...push, GITHUB_REF: "refs/tags/v1" })).branch, "");
  });
});

describe("the environment of GitLab CI", () => {
  it("has all facts, including groups and merge requests", async () => {
    const environment = {
      GITLAB_CI: "true",
      CI_PROJECT_PATH: "acme/web/shop",
      CI_COMMIT_SHA: SHA,
      CI_COMMIT_BRANCH: "main",
      CI_PIPELINE_URL: "https://gitlab.example/acme/web/shop/-/pipelines/9",
      CI_JOB_URL: "https://gitlab.example/acme/web/shop/-/jobs/100",
    };
    const expected = {
      repository: "acme/web/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://gitlab.example/acme/web/shop/-/pipelines/9",
    };
    assert.deepEqual(await factsOf(environment), expected);
    const { CI_COMMIT_BRANCH: _, ...others } = environment;
    assert.deepEqual(
      await factsOf({ ...others, CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "fix" }),
      { ...expected, branch: "fix" },
    );
  });
});

describe("the environment of CircleCI", () => {
  it("has the workflow as the build, also on a self-hosted server", async () => {
    const environment = {
      CIRCLECI: "true",
      CIRCLE_PROJECT_USERNAME: "acme",
      CIRCLE_PROJECT_REPONAME: "shop",
      CIRCLE_SHA1: SHA,
      CIRCLE_BRANCH: "main",
      CIRCLE_WORKFLOW_ID: "w-1",
      CIRCLE_BUILD_URL: "https://circleci.example/gh/acme/shop/12",
    };
    const expected = { repository: "acme/shop", commit: SHA, branch: "main" };
    assert.deepEqual(await factsOf(environment), {
      ...expected,
      buildUrl: "https://circleci.example/workflow-run/w-1",
    });
    const { CIRCLE_WORKFLOW_ID: _, CIRCLE_PROJECT_USERNAME: __, ...others } = environment;
    assert.deepEqual(
      await factsOf({ ...others, CIRCLE_REPOSITORY_URL: "git@github.com:acme/shop.git" }),
      { ...expected, buildUrl: "https://circleci.example/gh/acme/shop/12" },
    );
  });
});

describe("the environment of Buildkite", () => {
  const environment = {
    BUILDKITE: "true",
    BUILDKITE_REPO: "git@github.com:acme/shop.git",
    BUILDKITE_COMMIT: SHA,
    BUILDKITE_BRANCH: "main",
    BUILDKITE_BUILD_URL: "https://buildkite.com/acme/shop/builds/3",
  };

  it("has all facts", async () => {
    assert.deepEqual(await factsOf(environment), {
      repository: "acme/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://buildkite.com/acme/shop/builds/3",
    });
  });

  it("leaves a commit that is only called HEAD to git", async () => {
    const git = (args: string[]) => Promise.resolve(args.at(-1) === "HEAD" ? SHA : "");
    const job = await detectCiJob({ ...environment, BUILDKITE_COMMIT: "HEAD" }, git);
    assert.equal(job?.commit, SHA);
  });
});

describe("the environment of Jenkins", () => {
  const environment = {
    JENKINS_URL: "https://jenkins.example/",
    GIT_URL: "https://user:secret@git.example/acme/shop.git",
    GIT_COMMIT: SHA,
    GIT_BRANCH: "origin/main",
    BUILD_URL: "https://jenkins.example/job/shop/7/",
  };
  const expected = {
    repository: "acme/shop",
    commit: SHA,
    branch: "main",
    buildUrl: "https://jenkins.example/job/shop/7/",
  };

  it("has all facts, without credentials", async () => {
    assert.deepEqual(await factsOf(environment), expected);
  });

  it("has the branch of a multibranch job and of a change", async () => {
    assert.equal((await factsOf({ ...environment, BRANCH_NAME: "dev" })).branch, "dev");
    const change = { ...environment, BRANCH_NAME: "PR-5", CHANGE_BRANCH: "fix" };
    assert.equal((await factsOf(change)).branch, "fix");
  });

  it("takes facts that a pipeline does not export from git", async () => {
    const git = (args: string[]) =>
      Promise.resolve(args[0] === "config" ? "git@git.example:acme/shop.git" : SHA);
    const job = await detectCiJob({ JENKINS_HOME: "/var/jenkins" }, git);
    assert.equal(job?.repository, "acme/shop");
    assert.equal(job?.commit, SHA);
  });

  it("counts only where no other service does", async () => {
    const job = await detectCiJob({ ...environment, GITLAB_CI: "true" }, noGit);
    assert.equal(job?.title, "GitLab CI");
  });
});

describe("the environment of Travis CI", () => {
  it("has all facts, also of pull requests and tags", async () => {
    const environment = {
      TRAVIS: "true",
      TRAVIS_REPO_SLUG: "acme/shop",
      TRAVIS_COMMIT: SHA,
      TRAVIS_BRANCH: "main",
      TRAVIS_BUILD_WEB_URL: "https://app.travis-ci.com/acme/shop/builds/1",
      TRAVIS_JOB_WEB_URL: "https://app.travis-ci.com/acme/shop/jobs/2",
    };
    assert.deepEqual(await factsOf(environment), {
      repository: "acme/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://app.travis-ci.com/acme/shop/builds/1",
    });
    const pull = { ...environment, TRAVIS_PULL_REQUEST_BRANCH: "fix" };
    assert.equal((await factsOf(pull)).branch, "fix");
    const tag = { ...environment, TRAVIS_TAG: "v1", TRAVIS_BRANCH: "v1" };
    assert.equal((await factsOf(tag)).branch, "");
  });
});

describe("the environment of Semaphore", () => {
  it("has all facts, also of pull requests and tags", async () => {
    const environment = {
      SEMAPHORE: "true",
      SEMAPHORE_GIT_REPO_SLUG: "acme/shop",
      SEMAPHORE_GIT_SHA: SHA,
      SEMAPHORE_GIT_BRANCH: "main",
      SEMAPHORE_GIT_REF_TYPE: "branch",
      SEMAPHORE_ORGANIZATION_URL: "https://acme.semaphoreci.com",
      SEMAPHORE_WORKFLOW_ID: "w-1",
    };
    assert.deepEqual(await factsOf(environment), {
      repository: "acme/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://acme.semaphoreci.com/workflows/w-1",
    });
    const pull = {
      ...environment,
      SEMAPHORE_GIT_REF_TYPE: "pull-request",
      SEMAPHORE_GIT_PR_BRANCH: "fix",
    };
    assert.equal((await factsOf(pull)).branch, "fix");
    const tag = { ...environment, SEMAPHORE_GIT_REF_TYPE: "tag" };
    assert.equal((await factsOf(tag)).branch, "");
  });
});

describe("the environment of Azure Pipelines", () => {
  const environment = {
    TF_BUILD: "True",
    BUILD_REPOSITORY_NAME: "shop",
    SYSTEM_TEAMPROJECT: "Web Team",
    SYSTEM_TEAMFOUNDATIONCOLLECTIONURI: "https://dev.azure.com/acme/",
    BUILD_BUILDID: "42",
    BUILD_SOURCEVERSION: SHA,
    BUILD_SOURCEBRANCH: "refs/heads/main",
  };

  it("has all facts of a repository in Azure Repos", async () => {
    assert.deepEqual(await factsOf(environment), {
      repository: "Web Team/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://dev.azure.com/acme/Web%20Team/_build/results?buildId=42",
    });
  });

  it("has all facts of a pull request to an external repository", async () => {
    const facts = await factsOf({
      ...environment,
      BUILD_REPOSITORY_NAME: "acme/shop",
      BUILD_SOURCEBRANCH: "refs/pull/5/merge",
      SYSTEM_PULLREQUEST_SOURCEBRANCH: "refs/heads/fix",
    });
    assert.equal(facts.repository, "acme/shop");
    assert.equal(facts.branch, "fix");
  });

  it("has another attempt when the stage or the job was run again", async () => {
    const attemptOf = async (more: Environment) =>
      (await detectCiJob({ TF_BUILD: "True", ...more }, noGit))?.attempt;
    const counted = (stage: string, job: string) =>
      attemptOf({ SYSTEM_STAGEATTEMPT: stage, SYSTEM_JOBATTEMPT: job });
    assert.equal(await counted("1", "1"), "1");
    assert.equal(await counted("2", "1"), "2");
    assert.equal(await counted("1", "2"), "2");
    // "Rerun failed jobs" counts both.
    assert.equal(await counted("10", "9"), "10");
    assert.equal(await attemptOf({ SYSTEM_JOBATTEMPT: "3" }), "3");
    assert.equal(await attemptOf({}), "");
  });
});

describe("the environment of Bitbucket Pipelines", () => {
  it("has all facts", async () => {
    const environment = {
      BITBUCKET_BUILD_NUMBER: "8",
      BITBUCKET_REPO_FULL_NAME: "acme/shop",
      BITBUCKET_COMMIT: SHA,
      BITBUCKET_BRANCH: "main",
    };
    assert.deepEqual(await factsOf(environment), {
      repository: "acme/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://bitbucket.org/acme/shop/pipelines/results/8",
    });
  });
});

describe("the environment of AWS CodeBuild", () => {
  const environment = {
    CODEBUILD_BUILD_ID: "shop:1",
    CODEBUILD_SOURCE_REPO_URL: "https://github.com/acme/shop.git",
    CODEBUILD_RESOLVED_SOURCE_VERSION: SHA,
    CODEBUILD_WEBHOOK_HEAD_REF: "refs/heads/main",
    CODEBUILD_BUILD_URL: "https://console.aws.amazon.com/codebuild/builds/shop:1",
  };

  it("has all facts", async () => {
    assert.deepEqual(await factsOf(environment), {
      repository: "acme/shop",
      commit: SHA,
      branch: "main",
      buildUrl: "https://console.aws.amazon.com/codebuild/builds/shop:1",
    });
  });

  it("has no repository for CodeCommit, which has no owners", async () => {
    const url = "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/shop";
    const facts = await factsOf({ ...environment, CODEBUILD_SOURCE_REPO_URL: url });
    assert.equal(facts.repository, "");
  });
});

describe("the branch", () => {
  const jenkins = { JENKINS_URL: "https://jenkins.example/", JOB_NAME: "shop/x" };
  const buildkite = { BUILDKITE: "true", BUILDKITE_PULL_REQUEST: "false" };
  const tags: Record<string, Environment> = {
    "a tag of Jenkins": { ...jenkins, BRANCH_NAME: "v1", TAG_NAME: "v1" },
    "a commit of Jenkins at no branch": { ...jenkins, GIT_BRANCH: "detached" },
    "a tag of Buildkite": { ...buildkite, BUILDKITE_BRANCH: "v1", BUILDKITE_TAG: "v1" },
    "a tag of Cirrus CI": { CIRRUS_CI: "true", CIRRUS_BRANCH: "v1", CIRRUS_TAG: "v1" },
  };
  for (const [name, environment] of Object.entries(tags)) {
    it(`is none for ${name}`, async () => {
      assert.equal((await factsOf(environment)).branch, "");
    });
  }

  // A branch with the name of the branch that it is for can only be a fork's, whose owner is not told.
  const pulls: Record<string, (branch: string) => Environment> = {
    "Jenkins": (branch) => ({
      ...jenkins,
      BRANCH_NAME: "PR-5",
      CHANGE_ID: "5",
      CHANGE_BRANCH: branch,
      CHANGE_TARGET: "main",
    }),
    "AWS CodeBuild": (branch) => ({
      CODEBUILD_BUILD_ID: "shop:1",
      CODEBUILD_WEBHOOK_TRIGGER: "pr/5",
      CODEBUILD_WEBHOOK_HEAD_REF: `refs/heads/${branch}`,
      CODEBUILD_WEBHOOK_BASE_REF: "refs/heads/main",
    }),
    "Bitbucket Pipelines": (branch) => ({
      BITBUCKET_BUILD_NUMBER: "8",
      BITBUCKET_PR_ID: "5",
      BITBUCKET_BRANCH: branch,
      BITBUCKET_PR_DESTINATION_BRANCH: "main",
    }),
    "Drone": (branch) => ({
      DRONE: "true",
      DRONE_PULL_REQUEST: "5",
      DRONE_SOURCE_BRANCH: branch,
      DRONE_TARGET_BRANCH: "main",
      DRONE_BRANCH: "main",
    }),
    "Woodpecker CI": (branch) => ({
      CI: "woodpecker",
      CI_COMMIT_PULL_REQUEST: "5",
      CI_COMMIT_SOURCE_BRANCH: branch,
      CI_COMMIT_TARGET_BRANCH: "main",
      CI_COMMIT_BRANCH: "main",
    }),
  };
  for (const [name, of] of Object.entries(pulls)) {
    it(`is none for a pull request of a fork's branch with the base's name: ${name}`, async () => {
      assert.equal((await factsOf(of("fix"))).branch, "fix");
      assert.equal((await factsOf(of("main"))).branch, "");
    });
  }

  it("is that of the fork where Jenkins tells it, also with the base's name", async () => {
    const environment = { ...pulls.Jenkins!("main"), CHANGE_FORK: "fork-er" };
    const git = { GIT_URL: "https://github.com/acme/shop.git" };
    assert.equal((await factsOf({ ...environment, ...git })).branch, "fork-er:main");
  });
});

describe("jobs of a matrix", () => {
  it("are environments by the versions of languages that Travis CI names", async () => {
    const job = { TRAVIS: "true", TRAVIS_OS_NAME: "linux", TRAVIS_CPU_ARCH: "amd64" };
    const of = async (more: Environment) =>
      (await detectCiJob({ ...job, ...more }, noGit))?.environment;
    assert.equal(await of({ TRAVIS_PYTHON_VERSION: "3.8" }), "linux-amd64 python 3.8");
    assert.equal(
      await of({ TRAVIS_NODE_VERSION: "20", TRAVIS_RUBY_VERSION: "3.3" }),
      "linux-amd64 node 20 ruby 3.3",
    );
    assert.equal(await of({}), "linux-amd64");
  });

  // Running a build again makes another build there.
  const again: Record<string, Environment> = {
    Jenkins: { JENKINS_URL: "https://jenkins.example/" },
    "Woodpecker CI": { CI: "woodpecker" },
  };
  for (const [name, environment] of Object.entries(again)) {
    it(`are of one attempt in a build of ${name}, so that they repeat nothing`, async () => {
      assert.equal((await detectCiJob(environment, noGit))?.attempt, "1");
    });
  }
});

describe("detecting CI", () => {
  it("finds nothing outside of it, nor in variables that are empty", async () => {
    assert.equal(await detectCiJob({ HOME: "/root", CI: "true" }, noGit), null);
    assert.equal(await detectCiJob({ GITHUB_ACTIONS: "", JENKINS_URL: "" }, noGit), null);
  });

  it("leaves missing facts empty", async () => {
    const job = await detectCiJob({ GITLAB_CI: "true" }, noGit);
    assert.deepEqual(job, {
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

  it("asks git for the commit where the job names something else, and for its tree", async () => {
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
    assert.equal((await detectCiJob(environment, git))?.tree, TREE);
    assert.deepEqual(asked, [
      "rev-parse --verify --quiet HEAD",
      `rev-parse --verify --quiet ${SHA}^{tree}`,
      "config --get remote.origin.url",
      "rev-parse --show-toplevel",
    ]);
    const hostile = { ...environment, CI_COMMIT_SHA: "--upload-pack=x" };
    assert.equal((await detectCiJob(hostile, git))?.commit, SHA);
    assert.ok(!asked.some((line) => line.includes("upload-pack")));
  });

  it("knows sixteen services, each by a name of its own", () => {
    assert.equal(new Set(SERVICES.map((service) => service.title)).size, 16);
  });
});

describe("environment, job and shard", () => {
  const cases: [string, Environment, { environment?: string; job?: string; shard?: string }][] = [
    [
      "GitHub Actions",
      { GITHUB_ACTIONS: "true", GITHUB_JOB: "test", RUNNER_OS: "Linux", RUNNER_ARCH: "X64" },
      { environment: "Linux-X64", job: "test" },
    ],
    [
      "a parallel job of GitLab CI",
      {
        GITLAB_CI: "true",
        CI_JOB_NAME: "rspec 2/4",
        CI_RUNNER_EXECUTABLE_ARCH: "linux/amd64",
        CI_NODE_INDEX: "2",
        CI_NODE_TOTAL: "4",
      },
      { environment: "linux/amd64", job: "rspec", shard: "2/4" },
    ],
    [
      "a matrix of GitLab CI, whose jobs are numbered without being shards",
      {
        GITLAB_CI: "true",
        CI_JOB_NAME: "test: [node 20, firefox]",
        CI_RUNNER_EXECUTABLE_ARCH: "linux/arm64",
        CI_NODE_INDEX: "1",
        CI_NODE_TOTAL: "6",
      },
      { environment: "linux/arm64 node 20 firefox", job: "test" },
    ],
    [
      "CircleCI, which counts from 0",
      { CIRCLECI: "true", CIRCLE_JOB: "test", CIRCLE_NODE_INDEX: "0", CIRCLE_NODE_TOTAL: "3" },
      { job: "test", shard: "1/3" },
    ],
    [
      "a job without parallelism",
      { CIRCLECI: "true", CIRCLE_JOB: "test", CIRCLE_NODE_INDEX: "0", CIRCLE_NODE_TOTAL: "1" },
      { job: "test" },
    ],
    [
      "Buildkite",
      {
        BUILDKITE: "true",
        BUILDKITE_LABEL: ":rspec: tests",
        BUILDKITE_PARALLEL_JOB: "1",
        BUILDKITE_PARALLEL_JOB_COUNT: "2",
      },
      { job: ":rspec: tests", shard: "2/2" },
    ],
    [
      "Travis CI",
      { TRAVIS: "true", TRAVIS_OS_NAME: "windows", TRAVIS_CPU_ARCH: "amd64" },
      { environment: "windows-amd64" },
    ],
    [
      "Semaphore",
      { SEMAPHORE: "true", SEMAPHORE_JOB_NAME: "Tests - 3/5", SEMAPHORE_JOB_INDEX: "" },
      { job: "Tests" },
    ],
    [
      "Azure Pipelines",
      {
        TF_BUILD: "True",
        AGENT_OS: "Windows_NT",
        AGENT_OSARCHITECTURE: "X64",
        SYSTEM_PHASENAME: "unit",
        SYSTEM_JOBPOSITIONINPHASE: "2",
        SYSTEM_TOTALJOBSINPHASE: "3",
      },
      { environment: "Windows_NT-X64", job: "unit", shard: "2/3" },
    ],
    [
      "Bitbucket Pipelines",
      {
        BITBUCKET_BUILD_NUMBER: "1",
        BITBUCKET_PARALLEL_STEP: "0",
        BITBUCKET_PARALLEL_STEP_COUNT: "2",
      },
      { shard: "1/2" },
    ],
    [
      "AWS CodeBuild",
      { CODEBUILD_BUILD_ID: "1", CODEBUILD_BATCH_BUILD_IDENTIFIER: "unit" },
      { job: "unit" },
    ],
    ["a job of Jenkins", { JENKINS_URL: "x", JOB_NAME: "shop/unit" }, { job: "shop/unit" }],
    [
      "a multibranch pipeline of Jenkins",
      { JENKINS_URL: "x", JOB_NAME: "shop/PR-5", BRANCH_NAME: "PR-5", STAGE_NAME: "Test" },
      { job: "shop Test" },
    ],
  ];

  for (const [name, variables, expected] of cases) {
    it(`are found in ${name}`, async () => {
      const { environment, job, shard } = (await detectCiJob(variables, noGit))!;
      assert.deepEqual({ environment, job, shard }, {
        environment: "",
        job: "",
        shard: "",
        ...expected,
      });
    });
  }

  it("are complete in the guide, which names the services without an environment", async () => {
    const guide = await Deno.readTextFile(new URL("../../../docs/guides/ci.md", import.meta.url));
    const [, list = ""] = /No environment at all is detected on ([^.]*)\./.exec(guide) ?? [];
    assert.deepEqual(
      list.replaceAll(/\s+/g, " ").split(/, | and /),
      SERVICES.filter(({ environment }) => !environment).map(({ title }) => title),
    );
  });

  it("have at most 100 characters", async () => {
    const job = await detectCiJob({ CIRCLECI: "true", CIRCLE_JOB: "🚀".repeat(101) }, noGit);
    assert.equal(job?.job, "🚀".repeat(100));
  });
});

describe("what a comment on a pull request says of its job", () => {
  const commentFacts = async (environment: Environment) => {
    const job = await detectCiJob(environment, noGit);
    assert.ok(job);
    const { workflow, fullJob, pullHead, order, projectId } = job;
    return { workflow, fullJob, pullHead, order, projectId };
  };

  it("is the workflow, and run and attempt, on GitHub Actions", async () => {
    const facts = await commentFacts({
      GITHUB_ACTIONS: "true",
      GITHUB_WORKFLOW: "CI",
      GITHUB_RUN_ID: "18446744073",
      GITHUB_RUN_ATTEMPT: "2",
      EVENT_PULL_REQUEST_HEAD_SHA: TREE,
    });
    assert.deepEqual(facts, {
      workflow: "CI",
      fullJob: "",
      pullHead: TREE,
      order: [18446744073, 2],
      projectId: "",
    });
  });

  it("is the name with its shard, and the author's commit of a merged result, on GitLab CI", async () => {
    const facts = await commentFacts({
      GITLAB_CI: "true",
      CI_JOB_NAME: "test 1/4",
      CI_PIPELINE_ID: "70",
      CI_JOB_ID: "9001",
      CI_PROJECT_ID: "42",
      CI_COMMIT_SHA: SHA,
      CI_MERGE_REQUEST_SOURCE_BRANCH_SHA: TREE,
    });
    assert.deepEqual(facts, {
      workflow: "",
      fullJob: "test 1/4",
      pullHead: TREE,
      order: [70, 9001],
      projectId: "42",
    });
  });

  it("has no order where runs have no number, whatever the attempt", async () => {
    const { order } = await commentFacts({ BUILDKITE: "true", BUILDKITE_RETRY_COUNT: "3" });
    assert.deepEqual(order, [0, 0]);
  });
});

describe("the page of the repository", () => {
  const environments: Record<string, Environment> = {
    "GitHub Actions": { GITHUB_ACTIONS: "true", GITHUB_REPOSITORY: "acme/shop" },
    "GitLab CI": { GITLAB_CI: "true", CI_PROJECT_URL: "https://github.com/acme/shop" },
    "CircleCI": { CIRCLECI: "true", CIRCLE_REPOSITORY_URL: "git@github.com:acme/shop.git" },
    "Buildkite": { BUILDKITE: "true", BUILDKITE_REPO: "git@github.com:acme/shop.git" },
    "Semaphore": { SEMAPHORE: "true", SEMAPHORE_GIT_URL: "ssh://git@github.com/acme/shop.git" },
    "Azure Pipelines": { TF_BUILD: "True", BUILD_REPOSITORY_URI: "https://github.com/acme/shop" },
    "Bitbucket Pipelines": {
      BITBUCKET_BUILD_NUMBER: "1",
      BITBUCKET_GIT_HTTP_ORIGIN: "https://github.com/acme/shop",
    },
    "AWS CodeBuild": {
      CODEBUILD_BUILD_ID: "1",
      CODEBUILD_SOURCE_REPO_URL: "https://github.com/acme/shop.git",
    },
    "Jenkins": { JENKINS_URL: "x", GIT_URL: "https://user:secret@github.com/acme/shop.git" },
  };

  for (const [name, environment] of Object.entries(environments)) {
    it(`is found in the environment of ${name}`, async () => {
      const job = await detectCiJob(environment, noGit);
      assert.equal(job?.repositoryUrl, "https://github.com/acme/shop");
    });
  }

  it("is that of the checkout otherwise", async () => {
    const git = (args: string[]) =>
      Promise.resolve(args[0] === "config" ? "https://x:secret@git.example/acme/shop.git" : "");
    const job = await detectCiJob({ TRAVIS: "true", TRAVIS_REPO_SLUG: "acme/shop" }, git);
    assert.equal(job?.repositoryUrl, "https://git.example/acme/shop");
  });
});
