import { beforeEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Conclusion } from "../../lib/report/result.ts";
import {
  coverageBadge,
  flakinessBadge,
  INCLUDES,
  inventoryPage,
  submissionsPage,
  testResults,
  testsPage,
} from "./response_bodies.ts";
import {
  addRepository,
  addUpload,
  deleteRepository,
  deleteSubmission,
  emptyState,
  type PlainUpload,
  repositoryAt,
  showFailed,
  showProcessing,
  type State,
} from "./model.ts";
import { Oracle } from "./oracle.ts";
import { addQuarantine } from "./quarantines.ts";
import { responseOf } from "./requests.ts";

const DAY = 86_400;
const WINDOW = 14 * DAY;
/** 2026-03-15T12:00:00Z */
const NOW = 1_773_576_000;

const COMMIT = "c1c1c1c";

const WHOLE = { sort: "disruptivenessRatio", terms: [], limit: 10, offset: 0 } as const;

let state: State;
let uploads: number;

beforeEach(() => {
  state = emptyState("acme");
  addRepository(state, { owner: "acme", name: "web", repositoryId: 1 });
  uploads = 0;
});

type Attempt = [name: string, conclusion: Conclusion];

function upload(attempts: Attempt[], more: Partial<PlainUpload> = {}): string {
  const id = `${++uploads}`.padStart(24, "0");
  addUpload(state, {
    repository: 0,
    recordedAt: NOW,
    commit: COMMIT,
    tree: null,
    branch: null,
    environment: "",
    job: "",
    buildUrl: `https://ci/${uploads}`,
    tags: [],
    testTags: [],
    results: attempts.map(([name, conclusion], index) => ({
      suite: "s",
      class: "c",
      name,
      file: "f",
      conclusion,
      durationMicroseconds: 10,
      message: conclusion === "passing" ? "" : `${name} broke at ${index}`,
      body: "",
    })),
    coverage: null,
    repositoryUrl: null,
    key: null,
    ...more,
  }, { id, key: more.key ?? `key ${uploads}` });
  return id;
}

function send(now = NOW): Oracle {
  return new Oracle(state, now, WINDOW);
}

/** The repository's list, with what the examples look at. */
function list(now = NOW): [name: string, ratio: number, count: number][] {
  const { tests } = testsPage(send(now), 0, { ...WHOLE, terms: [] }) as unknown as {
    tests: {
      name: string;
      disruptiveness: number;
      nondeterministic_negative_result_count: number;
    }[];
  };
  return tests.map((test) => [
    test.name,
    test.disruptiveness,
    test.nondeterministic_negative_result_count,
  ]);
}

describe("the oracle's disruptions", () => {
  it("are the negatives of a code version that has a pass too", () => {
    upload([["a", "failure"], ["a", "passing"], ["b", "failure"], ["c", "passing"]]);
    assert.deepEqual(list(), [["a", 0.5, 1]]);
  });

  it("are found between submissions of one commit, in either order", () => {
    upload([["a", "passing"], ["b", "error"]]);
    upload([["a", "error"], ["b", "passing"]]);
    assert.deepEqual(list().toSorted(), [["a", 0.5, 1], ["b", 0.5, 1]]);
  });

  it("join commits of one tree, and no tree with a commit", () => {
    upload([["a", "passing"], ["b", "passing"]], { tree: "c0ffee0" });
    upload([["a", "failure"]], { commit: "0c0c0c0c", tree: "c0ffee0" });
    upload([["b", "failure"]], { commit: "c0ffee0" });
    upload([["b", "failure"]], { commit: COMMIT });
    assert.deepEqual(list(), [["a", 0.5, 1]]);
  });

  it("do not join environments", () => {
    upload([["a", "passing"]], { tree: "c0ffee0", environment: "Linux-X64" });
    upload([["a", "failure"]], { tree: "c0ffee0", environment: "Windows-X64" });
    upload([["a", "failure"]], { tree: "c0ffee0" });
    assert.deepEqual(list(), []);
    upload([["a", "failure"]], { tree: "c0ffee0", environment: "Linux-X64" });
    assert.deepEqual(list(), [["a", 0.25, 1]]);
  });

  it("do not join submissions whose commit is not 7 to 64 hex digits", () => {
    for (const commit of ["HEAD", "main", "c1c1c1", "c1".repeat(33), ""]) {
      upload([["a", "passing"]], { commit });
      upload([["a", "failure"]], { commit });
    }
    assert.deepEqual(list(), []);
    upload([["a", "passing"], ["a", "failure"]], { commit: "HEAD" });
    assert.equal(list().length, 1);
  });

  it("ignore skips and unknown results", () => {
    upload([["a", "failure"], ["a", "skipped"], ["a", "unknown"]]);
    assert.deepEqual(list(), []);
  });

  it("end with the window, to the second, while the pass may be older", () => {
    upload([["a", "passing"]], { recordedAt: NOW - 400 * DAY });
    upload([["a", "failure"]], { recordedAt: NOW - WINDOW });
    assert.deepEqual(list(), [["a", 1, 1]]);
    assert.deepEqual(list(NOW + 1), []);
  });

  it("cut the ratio after three digits", () => {
    upload([["a", "failure"], ["a", "error"], ["a", "passing"]]);
    assert.deepEqual(list(), [["a", 0.666, 2]]);
  });

  it("are gone with the submission that proved them", () => {
    upload([["a", "passing"]]);
    upload([["a", "failure"]]);
    deleteSubmission(state, "key 1");
    assert.deepEqual(list(), []);
  });
});

describe("the oracle's responses", () => {
  it("show the latest disruption, the later position of one submission", () => {
    upload([["a", "failure"], ["a", "passing"], ["a", "error"]], { recordedAt: NOW - 60 });
    const [test] = state.tests;
    assert.deepEqual(testsPage(send(), 0, { ...WHOLE, terms: [] }), {
      count: 1,
      tests: [{
        id: test!.id,
        name: "a",
        suite: "s",
        class: "c",
        file: "f",
        disruptiveness: 0.666,
        nondeterministic_negative_result_count: 2,
        nondeterminism_first_recorded_at: "2026-03-15T11:59:00Z",
        latest_nondeterministic_commit_oid: COMMIT,
        latest_nondeterministic_negative_result: {
          recorded_at: "2026-03-15T11:59:00Z",
          build_url: "https://ci/1",
          message: "a broke at 2",
        },
        latest_nondeterministic_positive_result: {
          recorded_at: "2026-03-15T11:59:00Z",
          build_url: "https://ci/1",
          message: null,
        },
      }],
      metadata: { after: null, limit: 10 },
    });
    const { results } = testResults(send(), test!) as { results: { message: string }[] };
    assert.deepEqual(results.map(({ message }) => message), ["a broke at 2", "a broke at 0"]);
  });

  it("page through submissions of the window, newest first", () => {
    upload([["a", "passing"]], { recordedAt: NOW - WINDOW - 1 });
    upload([["a", "passing"], ["a", "skipped"]]);
    const newest = upload([["b", "passing"]], { tree: "77", branch: "main" });
    assert.deepEqual(submissionsPage(send(), 0, { limit: 1, after: null }), {
      count: 2,
      submissions: [{
        id: newest,
        key: "key 3",
        build_url: "https://ci/3",
        commit_oid: COMMIT,
        tree_oid: "77",
        branch: "main",
        environment: "",
        job: "",
        shard: "",
        attempt: "",
        runner: "",
        pull_number: null,
        pull_title: "",
        author: "",
        exit_code: null,
        failed_without_test: false,
        recorded_at: "2026-03-15T12:00:00Z",
        status: "processed",
        test_result_count: 1,
        ran_test_count: 1,
        skipped_test_count: 0,
        notes: [],
      }],
      metadata: { after: btoa(`id:${newest}`), limit: 1 },
    });
    const next = submissionsPage(send(), 0, { limit: 1, after: newest });
    assert.deepEqual(next.metadata, { after: null, limit: 1 });
  });

  it("count the same report of one commit and build URL once", () => {
    const report: Attempt[] = [["a", "failure"], ["a", "passing"]];
    upload(report, { buildUrl: "https://ci/same" });
    upload(report, { buildUrl: "https://ci/same", recordedAt: NOW - 5 });
    upload(report, { buildUrl: "" });
    upload(report, { buildUrl: "" });
    assert.equal(submissionsPage(send(), 0, { limit: 10, after: null }).count, 2);
  });

  it("show a quarantined test that was never disruptive", () => {
    upload([["a", "passing"]], { tags: ["z", "b"] });
    const [test] = state.tests;
    addQuarantine(state, {
      repository: 0,
      testId: test!.id,
      at: NOW,
      by: null,
      type: "automatic",
      reason: "slow",
      owner: null,
      expiresAt: NOW + 1,
    });
    const page = { ...WHOLE, terms: [], quarantined: true, include: [...INCLUDES] };
    assert.deepEqual(inventoryPage(send(), [0], page).tests, [{
      id: test!.id,
      name: "a",
      suite: "s",
      class: "c",
      file: "f",
      disruptiveness_ratio: 0,
      nondeterministic_negative_result_count: 0,
      disruption_count: 0,
      nondeterminism_first_recorded_at: null,
      first_disruption_at: null,
      recent_nondeterministic_commit_oid: null,
      recent_nondeterministic_negative_result: null,
      recent_nondeterministic_positive_result: null,
      tags: ["b", "z"],
      quarantine_date: "2026-03-15T12:00:00Z",
      quarantined_by: null,
      quarantine_type: "automatic",
      time_consumed: 10,
      pass_rate: 1,
      avg_duration_ms: 0,
      quarantine_environment: null,
      quarantine_reason: "slow",
      quarantine_owner: null,
      quarantine_expires_at: "2026-03-15T12:00:01Z",
    }]);
  });

  it("count builds, not submissions, on the flakiness badge", () => {
    assert.deepEqual(flakinessBadge(send(), 0), { percentage: null, color: "#9f9f9f" });
    upload([["a", "passing"]], { buildUrl: "https://ci/x" });
    upload([["a", "failure"]], { buildUrl: "https://ci/x" });
    assert.deepEqual(flakinessBadge(send(), 0), { percentage: "100%", color: "#e05d44" });
    for (let number = 0; number < 7; number++) {
      upload([[`b${number}`, "passing"]], { buildUrl: "" });
    }
    assert.deepEqual(flakinessBadge(send(), 0), { percentage: "12.5%", color: "#dfb317" });
  });

  it("show the coverage of the latest upload, whatever its time", () => {
    const covered = (coveredLineCount: number) => ({ coveredLineCount, lineCount: 2000 });
    upload([], { recordedAt: NOW - 5, coverage: covered(1) });
    assert.deepEqual(coverageBadge(send(), 0), { percentage: "0.1%", color: "#e05d44" });
    upload([], { coverage: covered(1399) });
    upload([], { recordedAt: NOW - 9, coverage: covered(2000) });
    assert.deepEqual(coverageBadge(send(), 0), { percentage: "100%", color: "#4c1" });
    upload([], { recordedAt: NOW - 99, coverage: covered(1399) });
    assert.deepEqual(coverageBadge(send(), 0), { percentage: "70%", color: "#dfb317" });
    upload([], { coverage: { coveredLineCount: 1999, lineCount: 2000 } });
    assert.deepEqual(coverageBadge(send(), 0), { percentage: "99.9%", color: "#97ca00" });
  });
});

describe("an archive", () => {
  const archive = {
    repository: 0,
    recordedAt: NOW,
    commit: COMMIT,
    tree: null,
    branch: null,
    environment: "",
    job: "",
    buildUrl: "https://ci/archive",
    tags: [],
    testTags: [],
    results: [],
    coverage: null,
    repositoryUrl: null,
    key: "inbox/a.gz",
  };
  const statuses = () =>
    (submissionsPage(send(), 0, { limit: 10, after: null }).submissions as { status: string }[])
      .map(({ status }) => status);

  it("is listed while it is processed and after it failed, without making a build", () => {
    showProcessing(state, archive);
    assert.deepEqual(statuses(), ["processing"]);
    showFailed(state, archive);
    assert.deepEqual(statuses(), ["failed"]);
    assert.deepEqual(flakinessBadge(send(), 0), { percentage: null, color: "#9f9f9f" });
  });

  it("is replaced by its results, and is not listed as processing again", () => {
    showProcessing(state, archive);
    upload([["a", "passing"]], archive);
    showProcessing(state, archive);
    assert.deepEqual(statuses(), ["processed"]);
  });
});

describe("a request for a deleted repository", () => {
  it("finds the one that took its name, but not by its number", () => {
    addRepository(state, { owner: "acme", name: "app", repositoryId: 2 });
    deleteRepository(state, 0);
    const status = (apiRequest: Parameters<typeof responseOf>[0]) =>
      responseOf(apiRequest, new Oracle(state, NOW, WINDOW)).status;
    const page = { ...WHOLE, terms: [] };
    const byName = { kind: "tests", repository: 0, page } as const;
    const about = { kind: "inventory", repository: 0, view: {}, page } as const;
    const inventory = { ...about, include: [] };
    assert.equal(status(byName), 404);
    Object.assign(repositoryAt(state, 1), { name: "web" });
    assert.equal(status(byName), 200);
    assert.equal(status({ ...inventory, scope: "owner/name" }), 200);
    assert.equal(status({ ...inventory, scope: "id" }), 404);
    assert.equal(status({ ...inventory, scope: "id and name" }), 404);
  });
});
