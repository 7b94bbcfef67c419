import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { describeWithDatabases } from "../database.ts";
import { bodyOf, createShop, type Fixture, idOf, NOW } from "./fixture.ts";

const ROUTE = "/api/tests/:id/evidence";

/** A commit of the base branch. */
const commitAt = (index: number) => `c${index.toString(16).padStart(39, "0")}`;

describeWithDatabases("the evidence for a test", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    let seconds = 0;
    const upload = (sign: string, more: Partial<Upload> = {}) => {
      const failure = { name: "a", conclusion: "failure" as const, message: "boom" };
      const results = {
        ".": [{ name: "a" }],
        F: [failure],
        r: [failure, { name: "a" }],
        s: [{ name: "a", conclusion: "skipped" as const }],
        "?": [{ name: "a", conclusion: "unknown" as const }],
        "-": [{ name: "b" }],
      }[sign]!;
      const recordedAt = NOW - 5_000 + seconds++;
      return fixture.upload(shop, results, { branch: "main", recordedAt, ...more });
    };
    for (const [index, sign] of [..."............s?-FFFF"].entries()) {
      await upload(sign, { commitOid: commitAt(index), environment: "Linux" });
    }
    for (const index of [0, 1, 2]) {
      await upload(".", { commitOid: commitAt(index), environment: "Windows" });
    }
    await upload("F", { commitOid: "dddddddd", branch: "topic", environment: "Linux" });
  });

  const get = async (query = "", name = "a") =>
    await bodyOf(await fixture.get(`/api/tests/${idOf(shop, { name })}/evidence${query}`), ROUTE);

  it("is of the runs on the base branch, in the environment with the worst state", async () => {
    const found = await get();
    assert.equal(found.state, "broken");
    assert.equal(found.environment, "Linux");
    assert.deepEqual([found.runs, found.failures, found.rate], [4, 4, 1]);
    assert.ok(found.rate_low > 0.4 && found.rate_low < found.rate_high);
    assert.deepEqual(
      found.segments.map(({ runs, failures, rate }: { [name: string]: number }) => [
        runs,
        failures,
        rate,
      ]),
      [[12, 0, 0], [4, 4, 1]],
    );
    assert.deepEqual(found.segments[1].from, {
      commit_oid: commitAt(15),
      tree_oid: "",
      recorded_at: "2026-09-21T12:50:15Z",
    });
    // The last run of the range may be a later one: the test may have failed by chance before.
    assert.ok(found.since.from.commit_oid < commitAt(15));
    assert.ok(found.since.to.commit_oid >= commitAt(15));
    assert.ok(found.since.changes >= 1);
    assert.equal(found.calm.passes, 0);
  });

  it("is of one environment when it is asked for", async () => {
    const found = await get("?environment=Windows");
    assert.deepEqual([found.state, found.environment, found.runs], ["new", "Windows", 3]);
    assert.deepEqual([found.since, found.calm], [null, null]);
    const none = await get("?environment=none");
    assert.deepEqual([none.state, none.runs, none.rate], ["new", 0, null]);
  });

  it("counts from a commit, also an abbreviated one or one without a run of the test", async () => {
    const whole = await get(`?since=${commitAt(4)}&environment=Linux`);
    assert.deepEqual([whole.calm.passes, whole.calm.by_chance], [8, null]);
    const windows = await get(`?since=${commitAt(1).toUpperCase()}&environment=Windows`);
    assert.equal(windows.calm.passes, 2);
    assert.ok(windows.calm.by_chance > 0 && windows.calm.by_chance < 1);
    assert.ok(windows.calm.passes_needed > 2);
    const other = await get(`?since=${commitAt(14)}`);
    assert.deepEqual([other.calm.passes, other.calm.by_chance], [0, null]);
  });

  it("is not found for a commit without a run on the base branch", async () => {
    const path = `/api/tests/${idOf(shop, { name: "a" })}/evidence`;
    for (const commit of ["eeeeeeee", "dddddddd"]) {
      assert.equal((await fixture.get(`${path}?since=${commit}`)).status, 404, commit);
    }
    assert.equal((await fixture.get(`${path}?since=HEAD`)).status, 400);
  });
});
