import assert from "node:assert/strict";
import { before, beforeEach, describe, it } from "@std/testing/bdd";
import type { Upload } from "../../../db/write/store_submission.ts";
import { listQuarantined } from "../../../db/admin/quarantine.ts";
import { listRepositories, type Repository } from "../../../db/admin/repositories.ts";
import { listQuarantineLog } from "../../../db/read/quarantine_log.ts";
import { testHash, testId } from "../../../lib/base/identity.ts";
import { VERSION } from "../../../lib/base/version.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { describeWithDatabases } from "../../database.ts";
import { bodyOf, createFixture, DAY, type Fixture, NOW, quarantine } from "../../routes/fixture.ts";
import { WebhookFixture } from "../../webhooks.ts";

const TESTS = "/api/repos/:owner/:name/tests";
const VERDICTS = "/api/repos/:owner/:name/verdicts";

const PASSING = { suite: "pytest", class: "tests.test_a", name: "test_x", file: "" };
const FAILING = { ...PASSING, conclusion: "failure", message: "no" } as const;
const A = { file: "tests/test_a.py" };
const B = { file: "tests/test_b.py" };

describeWithDatabases("a file that is missing on one side", (database) => {
  let fixture: Fixture;
  let repository: Repository;
  let count = 0;

  before(async () => void (fixture = await createFixture(database(), { name: "acme" })));
  beforeEach(async () => void (repository = await fixture.addRepository("acme", `r${count++}`)));

  const upload = (...results: Partial<TestResult>[]) => uploadAt(NOW - 100, ...results);

  async function uploadAt(recordedAt: number, ...results: Partial<TestResult>[]) {
    const { submissionId, notes } = await fixture.upload(repository, results, {
      ...MORE,
      recordedAt,
    });
    const [row] = await database().sql<{ notes: string[] }[]>`
      select array_to_json(notes) as notes from submission
      where repository_id = ${repository.repositoryId}
        and submission_id = decode(${submissionId}, 'hex')`;
    assert.deepEqual(row!.notes, ["first", ...notes]);
    return notes;
  }
  const MORE: Partial<Upload> = { notes: ["first"] };

  const idOf = (test: typeof PASSING) => testId(repository.idPrefix, testHash(test));

  /** The flaky tests: id, file and number of disruptions. */
  async function flaky(): Promise<[string, string, number][]> {
    const path = `/api/repos/acme/${repository.name}/tests`;
    const { tests } = await bodyOf(await fixture.get(path), TESTS);
    return tests.map((test: Record<string, unknown>) => [
      test["id"],
      test["file"],
      test["nondeterministic_negative_result_count"],
    ]);
  }

  /** Id and file of the quarantined tests. */
  async function quarantined(): Promise<[string, string][]> {
    const path = `/api/v1/flaky/tests?repository=acme/${repository.name}&quarantine=true`;
    const { tests } = await bodyOf(await fixture.get(path), "/api/v1/flaky/tests");
    return tests.map(({ id, file }: { id: string; file: string }) => [id, file]);
  }

  async function files(): Promise<string[]> {
    const rows = await database().sql<{ file: string }[]>`
      select file from test where repository_id = ${repository.repositoryId} order by file`;
    return rows.map(({ file }) => file);
  }

  it("is taken from the only test with the same suite, class and name", async () => {
    assert.deepEqual(await upload({ ...PASSING, ...A }, { name: "other" }), []);
    const note = 'tests without a file count as those that are known with one: "test_x" ' +
      "(tests/test_a.py)";
    assert.deepEqual(await upload(FAILING), [note]);
    assert.deepEqual(await flaky(), [[idOf({ ...PASSING, ...A }), A.file, 1]]);
    // Again, and among others.
    assert.deepEqual(await upload(FAILING, { name: "new" }, { name: "other" }), [note]);
    assert.deepEqual(await flaky(), [[idOf({ ...PASSING, ...A }), A.file, 2]]);
    assert.deepEqual(await files(), ["test.ts", "test.ts", A.file]);
  });

  it("is given to the test that was known without one, which keeps its id", async () => {
    assert.deepEqual(await upload({ ...PASSING }, { name: "other" }), []);
    assert.deepEqual(await flaky(), []);
    const notes = await upload({ ...FAILING, ...A }, { name: "other" });
    assert.deepEqual(notes, [
      'tests with a file count as those that were known without one: "test_x" (tests/test_a.py)',
    ]);
    assert.deepEqual(await flaky(), [[idOf(PASSING), A.file, 1]]);
    assert.deepEqual(await upload({ ...FAILING, ...A }), []);
    assert.deepEqual(await upload(FAILING), []);
    assert.deepEqual(await flaky(), [[idOf(PASSING), A.file, 3]]);
    assert.deepEqual(await files(), ["test.ts", A.file]);
  });

  it("belongs to another test if it differs from the file that the test was given long ago", async () => {
    await upload(PASSING);
    await uploadAt(NOW - 20 * DAY, { ...PASSING, ...A });
    // As often as it ran since.
    await upload({ ...PASSING, ...A }, { name: "other" });
    assert.deepEqual(await upload({ ...FAILING, ...B }), []);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["test.ts", A.file, B.file]);
    await upload({ ...FAILING, ...A });
    assert.deepEqual(await flaky(), [[idOf(PASSING), A.file, 1]]);
  });

  it("is of neither test when another file has it within two weeks, in whatever order they arrive", async () => {
    const noteOf = (file: string) =>
      "tests that were known without a file have none again, as another file has a test of the " +
      `same name: "test_x" (${file})`;
    for (
      const [first, second, secondAt] of [
        [A, B, NOW - 100],
        [B, A, NOW - 100],
        [A, B, NOW + 13 * DAY],
        // Recorded before, arrived later.
        [A, B, NOW - 100 * DAY],
      ] as const
    ) {
      repository = await fixture.addRepository("acme", `r${count++}`);
      await upload(PASSING);
      await upload({ ...PASSING, ...first });
      await upload({ ...PASSING, ...first }, { name: "other" });
      assert.deepEqual(await uploadAt(secondAt, { ...PASSING, ...second }), [noteOf(first.file)]);
      assert.deepEqual(await files(), ["", "test.ts", second.file]);
      // Failures of either are of no test that passed in the same commit without a file.
      assert.deepEqual(await upload({ ...FAILING, ...first }), []);
      assert.deepEqual(await flaky(), []);
      assert.deepEqual(await upload({ ...FAILING, ...second }, FAILING), []);
      assert.deepEqual(
        (await flaky()).toSorted(),
        [
          [idOf(PASSING), "", 1],
          [idOf({ ...PASSING, ...second }), second.file, 1],
        ].toSorted(),
      );
      assert.deepEqual(await files(), ["", "test.ts", A.file, B.file]);
    }
  });

  it("is of neither test when an upload has both files, one of which was known", async () => {
    await upload(PASSING, { name: "other" });
    await upload({ ...PASSING, ...A }, { name: "other" });
    const [note, ...more] = await upload({ ...FAILING, ...A }, { ...PASSING, ...B });
    assert.match(note!, /^tests that were known without a file have none again/);
    assert.deepEqual(more, []);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["", "test.ts", A.file, B.file]);
  });

  it("excuses no test by a quarantine that was meant for another", async () => {
    await upload(PASSING);
    await quarantine(database(), idOf(PASSING), { quarantinedAt: NOW - 200 });
    await upload({ ...PASSING, ...A });
    assert.deepEqual(await quarantined(), [[idOf(PASSING), A.file]]);
    await upload({ ...PASSING, ...B });
    assert.deepEqual(await quarantined(), [[idOf(PASSING), ""]]);
    const verdicts = `/api/repos/acme/${repository.name}/verdicts?tests=`;
    for (const test of [{ ...PASSING, ...A }, { ...PASSING, ...B }, PASSING]) {
      const { tests } = await bodyOf(await fixture.get(verdicts + idOf(test).slice(-13)), VERDICTS);
      assert.deepEqual(tests.map(({ id }: { id: string }) => id), [idOf(test)]);
    }
  });

  describe("when it is taken back", () => {
    const HISTORY = { suite: "", class: "", name: "works", file: "" };
    let acme: WebhookFixture;
    let id: string;

    beforeEach(async () => {
      acme = await WebhookFixture.create(database(), { name: `org ${count++}`, now: NOW });
      await acme.addWebhook();
      await add("1", "");
      const { organizationId } = acme.organization;
      const [shop] = await listRepositories(database().sql, organizationId);
      id = testId(shop!.idPrefix, testHash(HISTORY));
    });

    const add = (version: string, ...files: string[]) =>
      acme.upload(version.repeat(7), { works: "+" }, { files });

    const entries = async () =>
      (await listQuarantined(database().sql, acme.organization.organizationId, acme.now))
        .map((entry) => [entry.id, entry.file]);

    const log = async () => {
      const { organizationId } = acme.organization;
      const { now } = acme;
      const events = await listQuarantineLog(database().sql, { organizationId, now });
      return events.map(({ at, action, testId, file, author, quarantineReason }) => (
        { at, action, testId, file, author, reason: quarantineReason }
      ));
    };

    for (
      const [what, files] of [
        ["another file", [B.file]],
        ["another file beside it", [A.file, B.file]],
        ["a test without a file", ["", A.file]],
      ] as const
    ) {
      it(`by ${what}, a quarantine that was added since the match ends, and is logged`, async () => {
        await add("2", A.file);
        // In the second of the match already, it may be meant for the file.
        await quarantine(database(), id, { quarantinedBy: "me" });
        assert.deepEqual(await acme.sent(), ["quarantine.added works"]);
        acme.now += 2 * DAY;
        const { notes, outcome } = await add("3", ...files);
        assert.deepEqual(await entries(), []);
        const reason = "the file belongs to another test of this name";
        const author = `test-analytics ${VERSION}`;
        assert.deepEqual((await log()).slice(1), [
          { at: acme.now, action: "removed", testId: id, file: A.file, author, reason },
        ]);
        const [message, ...more] = await acme.send();
        assert.deepEqual(more, []);
        assert.equal(message!.body.type, "quarantine.removed");
        const { id: subject, file, reason: said } = message!.body.data.tests[0];
        assert.deepEqual([subject, file, said], [id, A.file, reason]);
        const note = "a quarantine that was added since tests had a file by mistake has ended: " +
          `"works" (${A.file})`;
        assert.equal(notes.at(-1), note);
        const [row] = await database().sql<{ notes: string[] }[]>`
          select array_to_json(notes) as notes from submission where key = ${outcome.key}`;
        assert.deepEqual(row!.notes, notes);
        // Once only.
        await add("4", ...files);
        assert.equal((await log()).length, 2);
      });
    }

    it("an older quarantine stays", async () => {
      await quarantine(database(), id, { quarantinedAt: NOW - 1 });
      await add("2", A.file);
      await add("3", B.file);
      assert.deepEqual(await entries(), [[id, ""]]);
      assert.equal((await log()).length, 1);
    });

    it("one that has ended is not ended again", async () => {
      await add("2", A.file);
      await quarantine(database(), id, { quarantineExpiresAt: NOW + DAY });
      acme.now += 2 * DAY;
      const { notes } = await add("3", B.file);
      assert.equal(notes.length, 1);
      assert.deepEqual((await log()).map(({ action }) => action), ["added", "ended"]);
    });
  });

  it("changes nothing where two tests would fit", async () => {
    await upload({ ...PASSING, ...A }, { ...PASSING, ...B });
    assert.deepEqual(await upload(FAILING), []);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["", A.file, B.file]);
    // The one without a file is not that of a third file, either.
    assert.deepEqual(await upload({ ...FAILING, file: "tests/test_c.py" }), []);
    assert.deepEqual(await files(), ["", A.file, B.file, "tests/test_c.py"]);
  });

  it("changes nothing where the upload has both, or two files", async () => {
    await upload({ ...PASSING, ...A });
    assert.deepEqual(await upload(FAILING, { ...PASSING, ...A }), []);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["", A.file]);

    repository = await fixture.addRepository("acme", `r${count++}`);
    await upload(PASSING);
    assert.deepEqual(await upload({ ...FAILING, ...A }, { ...FAILING, ...B }), []);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["", A.file, B.file]);
  });

  it("is unresolved again when a second test with that suite, class and name arrives", async () => {
    await upload({ ...PASSING, ...A });
    assert.equal((await upload(PASSING)).length, 1);
    await upload({ ...PASSING, ...B });
    assert.deepEqual(await upload(FAILING), []);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["", A.file, B.file]);
  });

  it("is taken from a test when an upload has the test without it, too", async () => {
    await upload(PASSING);
    await upload({ ...PASSING, ...A });
    await upload({ ...FAILING, ...A }, PASSING);
    assert.deepEqual(await flaky(), []);
    assert.deepEqual(await files(), ["", A.file]);
  });

  it("keeps the order of attempts, their durations, texts and tags", async () => {
    await upload({ ...PASSING, ...A }, { name: "other" });
    const content = [
      { ...FAILING, durationMicroseconds: 1_500 },
      { name: "other", conclusion: "skipped" as const },
      { ...FAILING, message: "again", durationMicroseconds: 2_500 },
      { ...PASSING, durationMicroseconds: 7 },
      { name: "third" },
    ];
    const { submissionId } = await fixture.upload(repository, content, {
      testTags: { groups: [["owner:a"], ["owner:b"]], groupOf: [1, 2, 0] },
    });
    const path = `/api/repos/acme/${repository.name}/submissions/${submissionId}/tests`;
    const { tests } = await bodyOf(
      await fixture.get(path),
      "/api/repos/:owner/:name/submissions/:id/tests",
    );
    assert.deepEqual(
      tests.map((one: Record<string, unknown>) =>
        ["name", "file", "conclusion", "duration_us", "message", "run_count"].map((key) => one[key])
      ),
      [
        ["test_x", A.file, "failure", 1_500, "no", 1],
        ["test_x", A.file, "failure", 2_500, "again", 2],
        ["test_x", A.file, "passing", 7, null, 3],
        ["other", "test.ts", "skipped", 1_000, null, 1],
        ["third", "test.ts", "passing", 1_000, null, 1],
      ],
    );
  });

  it("is found by both hashes for verdicts", async () => {
    const verdict = async (test: typeof PASSING) => {
      const hash = idOf(test).slice(-13);
      const path = `/api/repos/acme/${repository.name}/verdicts?tests=${hash}`;
      const { tests } = await bodyOf(await fixture.get(path), VERDICTS);
      return tests.map(({ id, file, causes }: { id: string; file: string; causes: string[] }) => [
        id,
        file,
        causes.length,
      ]);
    };
    await upload({ ...PASSING, ...A });
    await upload(FAILING);
    const known = [[idOf({ ...PASSING, ...A }), A.file, 1]];
    assert.deepEqual(await verdict(PASSING), known);
    assert.deepEqual(await verdict({ ...PASSING, ...A }), known);

    repository = await fixture.addRepository("acme", `r${count++}`);
    await upload(PASSING);
    await upload({ ...FAILING, ...A });
    assert.deepEqual(await verdict({ ...PASSING, ...A }), [[idOf(PASSING), A.file, 1]]);
    // Unknown, and so a new test.
    assert.deepEqual(await verdict({ ...PASSING, ...B }), [[idOf({ ...PASSING, ...B }), "", 0]]);
  });
});
