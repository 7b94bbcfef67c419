/** `mod.ts`: what the variables of a job mean, with and without its checkout. */
import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { type CiJob, detectedFacts, readCi, testedPull } from "../../../lib/ci/mod.ts";
import { SERVICES } from "../../../lib/ci/services.ts";
import {
  CI_NAMES,
  type CiVariables,
  eventVariables,
  formatCi,
  parseCi,
} from "../../../lib/ci/variables.ts";
import { examples } from "./examples.ts";

const MAIN = "a".repeat(40);
const MERGE = "b".repeat(40);
const HEAD = "c".repeat(40);
const TREE = "d".repeat(40);
const OURS = "https://github.com/acme/shop.git";

function read(variables: CiVariables): CiJob {
  const job = readCi(variables);
  assert.ok(job);
  return job;
}

/** Which code an upload belongs to. */
function code(variables: CiVariables) {
  const { commit, tree, branch, notes } = read(variables);
  return { commit, tree, branch, notes: notes.length };
}

/** The branch, and whether the job was started for a pull request. */
function pulled(variables: CiVariables) {
  const { branch, isOfPull } = read(variables);
  return [branch, isOfPull];
}

const github = {
  GITHUB_ACTIONS: "true",
  GITHUB_REPOSITORY: "acme/shop",
  GITHUB_SHA: MAIN,
  GITHUB_REF: "refs/heads/main",
  EVENT_REPOSITORY_DEFAULT_BRANCH: '"main"',
};
const checkout = (commit: string, origin = OURS) => ({
  HEAD_COMMIT: commit,
  HEAD_TREE: TREE,
  HEAD_ORIGIN: origin,
});
const pull = {
  ...github,
  GITHUB_EVENT_NAME: "pull_request",
  GITHUB_SHA: MERGE,
  GITHUB_REF: "refs/pull/5/merge",
  GITHUB_HEAD_REF: "main",
  GITHUB_BASE_REF: "main",
  ...eventVariables({
    pull_request: {
      number: 5,
      title: 'Say "hi"\n',
      head: { sha: HEAD, ref: "main", repo: { full_name: "fork-er/shop" } },
    },
    repository: { default_branch: "main" },
  }),
};
const ofRun = {
  ...github,
  GITHUB_EVENT_NAME: "workflow_run",
  ...eventVariables({
    workflow_run: {
      head_sha: HEAD,
      head_branch: "main",
      head_repository: { full_name: "fork-er/shop" },
      run_attempt: 3,
      html_url: "https://github.com/acme/shop/actions/runs/7/attempts/3",
      pull_requests: [{ number: 5 }],
    },
  }),
};

/** Whether the service says which repository a job is of. */
function hasOwnRepository(variables: CiVariables): boolean {
  return read(variables).repository !== "";
}

describe("the table of services", () => {
  for (const [title, { variables, expected, more }] of Object.entries(examples(HEAD))) {
    it(`reads a job of ${title}`, () => {
      const job = read({ ...variables, ...hasOwnRepository(variables) ? {} : checkout(HEAD) });
      const { commit, ...rest } = job;
      assert.equal(rest.title, title);
      assert.equal(commit, HEAD);
      assert.deepEqual({ ...rest, ...expected, ...more }, rest);
    });
  }

  it("has an example of each service, and its vendor's page", () => {
    assert.deepEqual(Object.keys(examples(HEAD)).sort(), SERVICES.map(({ title }) => title).sort());
    for (const { page } of SERVICES) assert.match(page, /^https:\/\//);
  });

  it("names no variable that could be a secret", () => {
    const suspect = CI_NAMES.filter((name) => /TOKEN|SECRET|PASSWORD|CREDENTIAL|KEY/.test(name));
    assert.deepEqual(suspect, ["BUILDKITE_STEP_KEY"]);
  });
});

describe("the code that was tested", () => {
  it("is HEAD of the checkout, with its tree", () => {
    const expected = { commit: MAIN, tree: TREE, branch: "main", notes: 0 };
    const push = { ...github, GITHUB_EVENT_NAME: "push" };
    assert.deepEqual(code({ ...push, ...checkout(MAIN) }), expected);
    assert.deepEqual(code({ ...push, ...checkout(MAIN, "git@github.com:acme/shop") }), expected);
  });

  it("is what the service names in the checkout of another repository", () => {
    const push = { ...github, GITHUB_EVENT_NAME: "push" };
    const expected = { commit: MAIN, tree: "", branch: "main", notes: 0 };
    assert.deepEqual(code({ ...push, ...checkout(HEAD, "https://github.com/x/y") }), expected);
    const elsewhere = {
      ...checkout(HEAD, ""),
      HEAD_FOLDER: "/tmp/other",
      GITHUB_WORKSPACE: "/work",
    };
    assert.deepEqual(code({ ...push, ...elsewhere }), expected);
    const within = { ...checkout(MAIN, ""), HEAD_FOLDER: "D:/a/shop", GITHUB_WORKSPACE: "D:\\a\\" };
    assert.deepEqual(code({ ...push, ...within }), { ...expected, tree: TREE });
  });

  it("is the checkout's where a comment or a person started the job, at no branch", () => {
    for (const event of ["issue_comment", "workflow_dispatch", "schedule"]) {
      const found = code({ ...github, GITHUB_EVENT_NAME: event, ...checkout(HEAD) });
      assert.deepEqual(found, { commit: HEAD, tree: TREE, branch: "", notes: 1 }, event);
    }
    const local = { JENKINS_URL: "x", GIT_URL: OURS, GIT_COMMIT: MAIN, BRANCH_NAME: "fix" };
    const merged = code({ ...local, ...checkout(MERGE) });
    assert.deepEqual(merged, { commit: MERGE, tree: TREE, branch: "fix", notes: 1 });
    assert.match(read({ ...local, ...checkout(MERGE) }).notes[0]!, new RegExp(`${MAIN}.*${MERGE}`));
  });

  it("is the merge commit of a pull request, at the branch of its fork", () => {
    const expected = { commit: MERGE, tree: "", branch: "fork-er:main", notes: 0 };
    assert.deepEqual(code(pull), expected);
    assert.deepEqual(code({ ...pull, ...checkout(MERGE) }), { ...expected, tree: TREE });
    const fork = checkout(HEAD, "https://github.com/fork-er/shop");
    assert.deepEqual(code({ ...pull, ...fork }), {
      ...expected,
      commit: HEAD,
      tree: TREE,
      notes: 1,
    });
  });

  it("is the head of the event where the service names a commit of the base", () => {
    const target = {
      ...pull,
      GITHUB_EVENT_NAME: "pull_request_target",
      GITHUB_SHA: MAIN,
      GITHUB_REF: "refs/heads/main",
    };
    const expected = { commit: HEAD, tree: "", branch: "fork-er:main", notes: 0 };
    assert.deepEqual(code(target), expected);
    assert.deepEqual(code({ ...target, ...checkout(MAIN) }), {
      ...expected,
      commit: MAIN,
      tree: TREE,
    });
    // Without the event, the owner of a fork is unknown: the base branch is not its.
    const alone = { ...github, GITHUB_HEAD_REF: "main", GITHUB_BASE_REF: "main" };
    for (const event of ["pull_request", "pull_request_target"]) {
      assert.equal(code({ ...alone, GITHUB_EVENT_NAME: event }).branch, "");
    }
  });

  it("is that of the run whose end started the job, with its attempt and URL", () => {
    for (const own of [{}, checkout(MAIN)]) {
      const job = read({ ...ofRun, ...own });
      assert.deepEqual(code({ ...ofRun, ...own }), {
        commit: HEAD,
        tree: "",
        branch: "fork-er:main",
        notes: 0,
      });
      assert.equal(job.attempt, "3");
      assert.equal(job.buildUrl, "https://github.com/acme/shop/actions/runs/7");
      assert.equal(job.pullNumber, "5");
    }
    assert.equal(read({ ...ofRun, ...checkout(HEAD) }).tree, TREE);
  });

  it("is HEAD in the folder of CircleCI, which begins with a tilde", () => {
    const circle = { CIRCLECI: "true", CIRCLE_SHA1: MAIN, CIRCLE_WORKING_DIRECTORY: "~/project" };
    const at = (HEAD_FOLDER: string) => code({ ...circle, HEAD_COMMIT: HEAD, HEAD_FOLDER }).commit;
    assert.equal(at("/home/circleci/project"), HEAD);
    assert.equal(at("/tmp/tools"), MAIN);
  });

  it("is never at the default branch when it is of a pull request", () => {
    const own = { EVENT_PULL_REQUEST_HEAD_REPO_FULL_NAME: '"acme/shop"' };
    assert.equal(code({ ...pull, ...own }).branch, "");
    assert.equal(code({ ...github, GITHUB_EVENT_NAME: "issue_comment" }).branch, "");
    // No variable names the default branch: the service, which knows it, decides.
    const travis = { TRAVIS: "true", TRAVIS_PULL_REQUEST: "9", TRAVIS_PULL_REQUEST_BRANCH: "main" };
    assert.deepEqual(pulled({ ...travis, TRAVIS_BRANCH: "release" }), ["main", true]);
  });

  it("is of its pull request, whatever branch the uploader gives", () => {
    const job = read(pull);
    const given = (branch: string, commit: string) =>
      detectedFacts(job, { branch, commit, isOwnRepository: true }).isOfPull;
    for (const commit of [job.commit, job.pullHead, HEAD.toUpperCase()]) {
      assert.equal(given("main", commit), true, commit);
    }
    assert.equal(given("main", MAIN), false, "a job may test the base, too");
  });

  it("may be at the default branch for a push, while it has a pull request", () => {
    const circle = {
      CIRCLECI: "true",
      CIRCLE_BRANCH: "main",
      CIRCLE_PULL_REQUEST: "https://github.com/acme/shop/pull/4",
    };
    assert.deepEqual(pulled(circle), ["main", false]);
    const run = {
      ...github,
      GITHUB_EVENT_NAME: "workflow_run",
      EVENT_WORKFLOW_RUN_HEAD_SHA: `"${HEAD}"`,
      EVENT_WORKFLOW_RUN_HEAD_BRANCH: '"main"',
      EVENT_WORKFLOW_RUN_PULL_REQUESTS_0_NUMBER: "7",
    };
    assert.deepEqual(pulled({ ...run, EVENT_WORKFLOW_RUN_EVENT: '"push"' }), ["main", false]);
    assert.deepEqual(pulled({ ...run, EVENT_WORKFLOW_RUN_EVENT: '"pull_request"' }), ["", true]);
  });
});

describe("branches of a merge queue", () => {
  it("are stored as the service names them, with the branch that they are for", () => {
    const ref = `gh-readonly-queue/release/1.0/pr-104-${HEAD}`;
    const queued = read({
      ...github,
      GITHUB_EVENT_NAME: "merge_group",
      GITHUB_REF: `refs/heads/${ref}`,
    });
    assert.deepEqual([queued.branch, queued.queueBase], [ref, "release/1.0"]);
    const train = read({
      GITLAB_CI: "true",
      CI_PROJECT_PATH: "acme/shop",
      CI_MERGE_REQUEST_EVENT_TYPE: "merge_train",
      CI_MERGE_REQUEST_SOURCE_BRANCH_NAME: "fix",
      CI_MERGE_REQUEST_TARGET_BRANCH_NAME: "main",
    });
    assert.deepEqual([train.branch, train.queueBase], ["fix", "main"]);
  });

  it("are of the pull request in their name, unless CI says which", () => {
    const queue = `gh-readonly-queue/release/1.0/pr-104-${HEAD}`;
    assert.equal(testedPull("", queue), 104);
    assert.equal(testedPull("7", queue), 7);
    assert.equal(testedPull("", "fix/pr-104-x"), null);
    assert.equal(testedPull("of mine", ""), null);
  });
});

describe("the values of a matrix", () => {
  it("are the environment, but for numbers of shards", () => {
    const environment = (MATRIX: string) => {
      const { environment, shard } = read({
        ...github,
        RUNNER_OS: "Linux",
        RUNNER_ARCH: "X64",
        MATRIX,
      });
      return [environment, shard];
    };
    assert.deepEqual(environment("null"), ["Linux-X64", ""]);
    assert.deepEqual(environment('{"node":20,"lts":true,"db":{"name":"pg","versions":[15,18]}}'), [
      "Linux-X64 20 lts=true pg 15 18",
      "",
    ]);
    assert.deepEqual(environment('{"shardIndex":1,"shardTotal":4}'), ["Linux-X64", "1/4"]);
    assert.deepEqual(environment('{"ci_node_index":0,"ci_node_total":4}'), ["Linux-X64", "1/4"]);
    assert.deepEqual(environment('{"broken'), ["Linux-X64", ""]);
    assert.deepEqual(environment('{"db":"pg\\u0000\\n18","a\\tb":true,"none":"\\u0000"}'), [
      "Linux-X64 pg 18 a b=true",
      "",
    ]);
  });
});

describe("the lines of a client", () => {
  it("lose unknown names, credentials and line breaks", () => {
    const text = "GITHUB_TOKEN=ghs_x\nGIT_URL=https://user:pw@git.example/acme/shop\r\n" +
      "GITHUB_SHA=1\nGITHUB_SHA=2\nnonsense\n";
    assert.deepEqual(parseCi(text), {
      GITHUB_SHA: "1",
      GIT_URL: "https://git.example/acme/shop",
    });
    assert.equal(
      formatCi({
        CI_JOB_TOKEN: "x",
        CHANGE_TITLE: "a\nGITHUB_SHA=3",
        HEAD_ORIGIN: "ssh://a@b/c/d",
      }),
      "CHANGE_TITLE=a GITHUB_SHA=3\nHEAD_ORIGIN=ssh://b/c/d\n",
    );
  });

  it("lose a password with an at sign in it entirely, and nothing of a matrix", () => {
    const credentials = parseCi("GIT_URL=https://user:p@ss@git.example/acme/shop\n");
    assert.equal(credentials.GIT_URL, "https://git.example/acme/shop");
    const MATRIX = '{"registry":"https://npm.example","manager":"pnpm@9"}';
    assert.equal(parseCi(`MATRIX=${MATRIX}\n`).MATRIX, MATRIX);
  });

  it("have the texts of an event as JSON", () => {
    assert.equal(read(pull).pullTitle, 'Say "hi"');
    assert.equal(eventVariables({ installation: { token: "x" }, sender: null }).length, undefined);
    assert.deepEqual(eventVariables({ installation: { token: "x" } }), {});
    assert.deepEqual(parseCi(formatCi(pull)), parseCi(formatCi(parseCi(formatCi(pull)))));
  });
});
