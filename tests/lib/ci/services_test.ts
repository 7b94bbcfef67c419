/** `services.ts`: what variables change in the example of their service. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { UNKNOWN_RUN } from "../../../lib/ci/mod.ts";
import { detectCiJob } from "../../../lib/intake/checkout/mod.ts";
import { SERVICES } from "../../../lib/ci/services.ts";
import type { Environment } from "../../../lib/base/config.ts";
import { examples, SHA } from "./examples.ts";

const TREE = "76543210fedcba9876543210fedcba9876543210";
const noGit = (_args: string[]) => Promise.resolve("");

type Job = NonNullable<Awaited<ReturnType<typeof detectCiJob>>>;
type Changes = Record<string, string | null>;

/** The example of a service with other variables; those that are null are not set. */
function variablesOf(service: string, changes: Changes): Environment {
  const all = Object.entries({ ...examples(SHA)[service]!.variables, ...changes });
  return Object.fromEntries(all.filter(([, value]) => value !== null)) as Environment;
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
  "Jenkins": { CHANGE_FORK: null, CHANGE_TARGET: "main", CHANGE_BRANCH: "fix" },
  "AWS CodeBuild": {
    CODEBUILD_WEBHOOK_HEAD_REF: "refs/heads/fix",
    CODEBUILD_WEBHOOK_BASE_REF: "refs/heads/main",
  },
  "Bitbucket Pipelines": { BITBUCKET_BRANCH: "fix", BITBUCKET_PR_DESTINATION_BRANCH: "main" },
  "Drone": {
    DRONE_PULL_REQUEST: "5",
    DRONE_SOURCE_BRANCH: "fix",
    DRONE_TARGET_BRANCH: "main",
    DRONE_REPO_BRANCH: null,
  },
  "Woodpecker CI": {
    CI_COMMIT_SOURCE_BRANCH: "fix",
    CI_COMMIT_TARGET_BRANCH: "main",
    CI_REPO_DEFAULT_BRANCH: null,
  },
};

describe("a job of", () => {
  for (const [service, { cases = [] }] of Object.entries(examples(SHA))) {
    for (const { what, variables, expected } of cases) {
      it(`${service}: ${what}`, async () => {
        assert.deepEqual(partOf(await jobOf(variablesOf(service, variables)), expected), expected);
      });
    }
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
        (await jobOf(variablesOf(service, { [url]: null }))).repository,
        repository,
      );
    });
  }

  for (const [service, changes] of Object.entries(FORKS)) {
    it(`${service}: no branch for a fork's branch that is called as the base`, async () => {
      assert.equal((await jobOf(variablesOf(service, changes))).branch, "fix");
      const sameName = Object.entries(changes).map(([name, value]) =>
        [name, value?.replace("fix", "main") ?? null] as const
      );
      const job = await jobOf(variablesOf(service, Object.fromEntries(sameName)));
      assert.equal(job.branch, "");
    });
  }
});

describe("the attempt of a job of Azure Pipelines", () => {
  // "Rerun failed jobs" counts both.
  const attempts: [stage: string | null, job: string | null, expected: string][] = [
    ["1", "1", "1"],
    ["2", "1", "2"],
    ["1", "2", "2"],
    ["10", "9", "10"],
    [null, "3", "3"],
    [null, null, ""],
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
