import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { pruneRepository } from "../../../db/write/prune.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import { readSnapshot } from "../../../db/read/snapshot.ts";
import { loadTrackedChanges, loadTrackedTests } from "../../../db/read/tracked_tests.ts";
import { lockForUpload } from "../../../db/write/repository_row.ts";
import { showFailed, showProcessing } from "../../../db/write/submission_rows.ts";
import type { TestsState } from "../../../lib/analysis/tests_state.ts";
import { WINDOW_SECONDS } from "../../../lib/base/time.ts";
import { Random } from "../../../tools/measure/bench/random.ts";
import { describeWithDatabases } from "../../database.ts";
import {
  createFixture,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
  release,
} from "../../routes/fixture.ts";

const TESTS = ["a", "b", "c", "d", "e", "f"];

/** Random histories: half as many where each takes twice the time. */
const HISTORIES = { server: 4, embedded: 2 };

describeWithDatabases("the changes of tracked tests", (database) => {
  let fixture: Fixture;
  let names = 0;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
  });

  const newRepository = () => fixture.addRepository("acme", `repository-${names++}`);

  async function loadAll({ repositoryId }: Repository, now: number): Promise<TestsState> {
    const options = { repositoryIds: [repositoryId], now, windowStart: now - WINDOW_SECONDS };
    const states = await loadTrackedTests(database().sql, { ...options, withTime: true });
    return states.get(repositoryId)!;
  }

  function loadChanges({ repositoryId }: Repository, since: TestsState, now: number) {
    const options = { repositoryId, now, windowStart: now - WINDOW_SECONDS, withTime: true };
    return loadTrackedChanges(database().sql, { ...options, since });
  }

  /** All that a state says, in an order of its own. */
  function told(state: TestsState | null) {
    return state && {
      ...state,
      tests: [...state.tests].sort(([a], [b]) => a - b),
      recordedAts: state.recordedAts.toSorted(),
      runs: Array.from({ length: 50 }, (_, testNo) => state.runs.of(testNo)),
    };
  }

  it("give the same state as loading everything, for any history", async () => {
    const { sql } = database();
    let [followed, steps] = [0, 0];
    for (let seed = 0; seed < HISTORIES[database().kind]; seed++) {
      const random = new Random(seed);
      const pick = <T>(values: readonly T[]) => values[random.below(values.length)]!;
      const repository = await newRepository();
      const { repositoryId } = repository;
      let now = NOW;
      const keys: string[] = [];
      const states = [await loadAll(repository, now)];

      const upload = async () => {
        const tests = TESTS.filter(() => random.next() < 0.6);
        const groups = [["@web"], ["@web", "@shop"]];
        const results = tests.flatMap((name) => [
          {
            name,
            conclusion: pick(["passing", "passing", "failure", "error", "skipped"] as const),
          },
          ...(random.next() < 0.1 ? flaky(name) : []),
        ]);
        const { key } = await fixture.upload(repository, results, {
          commitOid: `c0ffee${random.below(8)}`,
          recordedAt: now - pick([0, 100, DAY, 5 * DAY, 13 * DAY, 20 * DAY]),
          tags: pick([[], [], ["nightly"], ["fast", "x"]]),
          testTags: random.next() < 0.2
            ? { groups, groupOf: tests.map(() => random.below(3)) }
            : null,
        });
        keys.push(key);
      };
      const waiting = {
        repositoryId,
        key: "incoming.gz",
        recordedAt: now,
        uploadedAt: now,
        buildUrl: "",
        commitOid: "c1c1c1c",
        treeOid: null,
        branch: null,
        tags: [],
      };
      const happenings: (() => Promise<unknown>)[] = [
        upload,
        upload,
        upload,
        upload,
        () => Promise.resolve(now += pick([1, 100, DAY, DAY, 6 * DAY])),
        () =>
          sql.begin(async (tx) =>
            showProcessing(tx, await lockForUpload(tx, repositoryId), waiting)
          ),
        () => sql.begin((tx) => showFailed(tx, waiting)),
        () => pruneRepository(sql, { repositoryId, cutoff: now - WINDOW_SECONDS }),
        async () => {
          const key = pick(keys.length > 0 ? keys : ["none"]);
          await deleteSubmission(sql, { organizationId: fixture.organization.organizationId, key });
        },
        async () => {
          const [testNo, test] = pick([...states.at(-1)!.tests.entries()]) ?? [];
          if (testNo === undefined) return;
          if (test!.quarantine) await release(database(), test!.id, { at: now });
          else {
            const end = pick([null, now + 1, now + DAY]);
            await quarantine(database(), test!.id, {
              quarantinedAt: now,
              quarantineExpiresAt: end,
              quarantineEnvironment: null,
            });
          }
        },
      ];
      for (let step = 0; step < 25; step++) {
        // Mostly uploads, as in practice: other changes load everything again.
        await (random.next() < 0.5 ? upload : pick(happenings))();
        const expected = await loadAll(repository, now);
        const since = states.at(-1 - random.below(Math.min(3, states.length)))!;
        const state = await loadChanges(repository, since, now);
        steps++;
        if (state) {
          followed++;
          assert.deepEqual(told(state), told(expected), `seed ${seed}, step ${step}`);
        }
        states.push(state ?? expected);
      }
    }
    assert.ok(followed > steps / 3, `${followed} of ${steps} states followed from earlier ones`);
  });

  it("follow an upload that came through processing", async () => {
    const repository = await newRepository();
    await fixture.upload(repository, flaky("t"));
    const since = await loadAll(repository, NOW);
    const archive = {
      repositoryId: repository.repositoryId,
      key: "a.gz",
      recordedAt: NOW - 10,
      uploadedAt: NOW,
      buildUrl: "",
      commitOid: "c2",
      treeOid: null,
      branch: null,
      tags: [],
    };
    await database().sql.begin(async (tx) =>
      showProcessing(tx, await lockForUpload(tx, repository.repositoryId), archive)
    );
    const coverage = { coveredLineCount: 1, lineCount: 2 };
    await fixture.upload(repository, flaky("u"), { ...archive, coverage });
    const state = await loadChanges(repository, since, NOW);
    assert.equal(state?.tests.size, 2);
  });

  it("follow coverage that came with an upload that was there before", async () => {
    const repository = await newRepository();
    const again = { buildUrl: "https://ci/1", reportDigest: "00" };
    await fixture.upload(repository, flaky("t"), again);
    const since = await loadAll(repository, NOW);
    const coverage = { coveredLineCount: 1, lineCount: 2 };
    await fixture.upload(repository, flaky("t"), { ...again, coverage });
    const state = await loadChanges(repository, since, NOW);
    assert.equal(state?.version.dataVersion, since.version.dataVersion + 1);
  });

  it("leave the earlier state as it was", async () => {
    const repository = await newRepository();
    await fixture.upload(repository, flaky("t"));
    const since = await loadAll(repository, NOW);
    const before = structuredClone(told(since));
    await fixture.upload(repository, flaky("t"), { commitOid: "c2" });
    assert.notDeepEqual(told(await loadChanges(repository, since, NOW)), before);
    assert.deepEqual(told(since), before);
  });

  it("are unknown after a deletion, a quarantine, or a window that moved back", async () => {
    const { sql } = database();
    const repository = await newRepository();
    const { key } = await fixture.upload(repository, flaky("t"));
    const first = await loadAll(repository, NOW);
    assert.equal(await loadChanges(repository, first, NOW - 1), null);
    await quarantine(database(), idOf(repository, { name: "t" }));
    assert.equal(await loadChanges(repository, first, NOW), null);
    const second = await loadAll(repository, NOW);
    await deleteSubmission(sql, { organizationId: fixture.organization.organizationId, key });
    assert.equal(await loadChanges(repository, second, NOW), null);
  });

  it("are unknown when newer submissions were pruned", async () => {
    const { sql } = database();
    const repository = await newRepository();
    const { repositoryId } = repository;
    await fixture.upload(repository, flaky("a"), { commitOid: "c1c1c1c", recordedAt: NOW - DAY });
    const since = await loadAll(repository, NOW);
    // The first disruption ever; its submission is pruned before the state has loaded it.
    await fixture.upload(repository, flaky("a"), { commitOid: "c0", recordedAt: NOW - 90 * DAY });
    await pruneRepository(sql, { repositoryId, cutoff: NOW - 30 * DAY });
    assert.equal(await loadChanges(repository, since, NOW), null);
    const state = await loadAll(repository, NOW);
    assert.deepEqual(
      [...state.tests.values()].map(({ firstDisruptionAt }) => firstDisruptionAt),
      [NOW - 90 * DAY],
    );
  });

  it("are unknown when expired submissions were pruned", async () => {
    const repository = await newRepository();
    const { repositoryId } = repository;
    await fixture.upload(repository, flaky("t"), { recordedAt: NOW - 13 * DAY });
    await fixture.upload(repository, flaky("t"), { recordedAt: NOW, commitOid: "c2" });
    const since = await loadAll(repository, NOW);
    const later = NOW + 2 * DAY;
    assert.equal((await loadChanges(repository, since, later))?.recordedAts.length, 1);
    await pruneRepository(database().sql, { repositoryId, cutoff: later - WINDOW_SECONDS });
    assert.equal(await loadChanges(repository, since, later), null);
  });
});

describeWithDatabases("tracked tests on a branch", (database) => {
  it("are looked up by plans for the window, however often they are loaded", async () => {
    const { sql } = database();
    const fixture = await createFixture(database(), { name: "acme" });
    const repository = await fixture.addRepository("acme", "shop");
    await fixture.upload(repository, flaky("t"));
    const { repositoryId } = repository;
    const filter = { branches: ["main"], environments: null };
    const load = () =>
      readSnapshot(sql, (tx) =>
        loadTrackedTests(tx, {
          repositoryIds: [repositoryId],
          now: NOW,
          windowStart: NOW - WINDOW_SECONDS,
          filter,
        }));
    for (let loads = 0; loads < 14; loads++) await load();
    // Each connection knows its own statements; the wait makes every query take another one.
    const plans = await Promise.all(
      Array.from({ length: 4 }, () =>
        sql<{ generic: number; custom: number }[]>`
        select generic_plans::int as generic, custom_plans::int as custom, pg_sleep(0.1)::text
        from pg_prepared_statements where statement like ${"%disrupted as materialized%"}`),
    );
    assert(plans.flat().some(({ custom }) => custom > 0));
    assert(plans.flat().every(({ generic }) => generic === 0));
  });
});
