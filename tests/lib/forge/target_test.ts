import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { findTarget } from "../../../lib/forge/target.ts";
import { detectCiJob } from "../../../lib/intake/checkout/mod.ts";
import { type FakeForge, FORGE_TOKEN, startFakeForge } from "./fake_forge.ts";

describe("the pull request of a CI job", () => {
  let forge: FakeForge;
  let folder: string;

  before(async () => {
    forge = startFakeForge("github");
    folder = await Deno.makeTempDir({ prefix: "test-analytics-event-" });
  });
  after(async () => {
    await forge.close();
    await Deno.remove(folder, { recursive: true });
  });

  async function placeOf(environment: Record<string, string>, pull?: number) {
    const target = await findTarget({
      environment,
      run: await detectCiJob(environment, () => Promise.resolve("")),
      repository: "acme/shop",
      pull,
      stop: new AbortController().signal,
      leftMs: () => Infinity,
      wait: (error) => Promise.reject(error),
    });
    return target?.place ?? null;
  }

  async function event(value: unknown): Promise<Record<string, string>> {
    const path = `${folder}/event.json`;
    await Deno.writeTextFile(path, typeof value === "string" ? value : JSON.stringify(value));
    return {
      GITHUB_ACTIONS: "true",
      GITHUB_REPOSITORY: "acme/shop",
      GITHUB_TOKEN: FORGE_TOKEN,
      GITHUB_API_URL: forge.url,
      GITHUB_EVENT_PATH: path,
    };
  }

  it("is the given one, or that which the environment names", async () => {
    const github = { GITHUB_TOKEN: FORGE_TOKEN };
    const gitlab = { GITLAB_CI: "true", GITLAB_TOKEN: FORGE_TOKEN };
    const cases: [Record<string, string>, string | null, number?][] = [
      [github, "acme/shop#7", 7],
      [{ ...github, GITHUB_ACTIONS: "true", GITHUB_REF: "refs/pull/9/merge" }, "acme/shop#9"],
      [{ ...github, JENKINS_URL: "https://ci.example", CHANGE_ID: "3" }, "acme/shop#3"],
      [
        { ...github, CIRCLECI: "true", CIRCLE_PULL_REQUEST: "https://github.com/acme/shop/pull/4" },
        "acme/shop#4",
      ],
      [{ ...github, BUILDKITE: "true", BUILDKITE_PULL_REQUEST: "false" }, null],
      [github, null],
      [{ ...gitlab, CI_MERGE_REQUEST_IID: "5" }, "acme/shop!5"],
      [{ ...gitlab, CI_OPEN_MERGE_REQUESTS: "acme/shop!6,acme/shop!8" }, "acme/shop!6"],
      [gitlab, null],
      [{ GITLAB_TOKEN: FORGE_TOKEN }, "acme/shop!7", 7],
    ];
    for (const [environment, place, pull] of cases) {
      assert.equal(await placeOf(environment, pull), place, JSON.stringify(environment));
    }
  });

  it("is refused by name on a forge without support", async () => {
    for (
      const [environment, name] of [
        [{ BITBUCKET_BUILD_NUMBER: "8", BITBUCKET_PR_ID: "7" }, "Bitbucket"],
        [{ TF_BUILD: "True", BUILD_REPOSITORY_PROVIDER: "TfsGit" }, "Azure Repos"],
      ] as const
    ) {
      await assert.rejects(placeOf(environment), {
        message: new RegExp(`comments on ${name} are not supported`),
      });
    }
    const github = { TF_BUILD: "True", BUILD_REPOSITORY_PROVIDER: "GitHub" };
    assert.equal(await placeOf({ ...github, GITHUB_TOKEN: FORGE_TOKEN }, 7), "acme/shop#7");
  });

  it("is that of the event that started the run, or of its commit", async () => {
    assert.equal(await placeOf(await event({ pull_request: { number: 10 } })), "acme/shop#10");
    const workflow_run = {
      id: 7,
      html_url: "https://github.com/acme/shop/actions/runs/7",
      head_sha: "a".repeat(40),
      head_branch: "fix",
      head_repository: { owner: { login: "fork" }, full_name: "fork/shop" },
    };
    const ofRun = async (workflow_run: unknown) =>
      await placeOf({
        ...await event({ workflow_run }),
        GITHUB_EVENT_NAME: "workflow_run",
        GITHUB_SHA: "c".repeat(40),
      });
    assert.equal(await ofRun(workflow_run), "acme/shop#12");
    assert.equal(await ofRun({ ...workflow_run, head_sha: "b".repeat(40) }), null);
    const push = {
      GITHUB_EVENT_NAME: "push",
      GITHUB_REF: "refs/heads/fix",
      GITHUB_SHA: "a".repeat(40),
    };
    assert.equal(await placeOf({ ...await event({}), ...push }), "acme/shop#12");
    assert.equal(await placeOf(await event("no JSON")), null);
  });

  it("needs a token and an address, which messages do not quote", async () => {
    const messages: [Record<string, string>, RegExp][] = [
      [{}, /^GITHUB_TOKEN is missing/],
      [{ GITHUB_TOKEN: "se cret" }, /^GITHUB_TOKEN has characters that no token has/],
      [{ GITLAB_CI: "true" }, /^GITLAB_TOKEN is missing/],
      [
        { GITHUB_TOKEN: "x", GITHUB_API_URL: "https://u:secret@h" },
        /^GITHUB_API_URL is not an address/,
      ],
    ];
    for (const [environment, message] of messages) {
      await assert.rejects(placeOf(environment, 7), (error: Error) => {
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /cret/);
        return true;
      });
    }
  });
});
