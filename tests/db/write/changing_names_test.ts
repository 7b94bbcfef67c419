import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { loadLatestNotes } from "../../../db/admin/diagnostics.ts";
import type { Repository } from "../../../db/admin/repositories.ts";
import { CHANGING_NAMES_NOTE } from "../../../lib/analysis/changing_names.ts";
import { describeWithDatabases } from "../../database.ts";
import { createShop, DAY, type Fixture, NOW } from "../../routes/fixture.ts";

describeWithDatabases("names that change with every run", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let minute = 0;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
  });

  async function notesOf(prefix: string, { count = 20, job = "unit", stable = 80 } = {}) {
    const names = [
      ...Array.from({ length: stable }, (_, index) => `stable ${index}`),
      ...Array.from({ length: count }, (_, index) => `${prefix} ${String(index).padStart(2, "0")}`),
    ];
    const { notes } = await fixture.upload(shop, names.map((name) => ({ name })), {
      job,
      recordedAt: NOW - DAY + 60 * ++minute,
    });
    return notes;
  }

  it("are noted after ten submissions of the job, with two examples", async () => {
    for (let run = 0; run < 11; run++) assert.deepEqual(await notesOf(`first ${run}`), []);
    const [note, ...others] = await notesOf("second");
    assert.deepEqual(others, []);
    assert.match(
      note!,
      /^names that change: 20 of 100 tests are new to the repository, such as "suite > Class > second/,
    );
    const stored = await loadLatestNotes(database().sql, {
      windowStart: NOW - 14 * DAY,
      beginnings: [CHANGING_NAMES_NOTE],
    });
    assert.deepEqual(stored.map((row) => ({ ...row })), [{ repository: "acme/shop", note }]);
  });

  it("are not noted of fewer tests, of a smaller share, or in a new job", async () => {
    assert.deepEqual(await notesOf("few", { count: 19 }), []);
    await notesOf("", { count: 0, stable: 81 });
    assert.deepEqual(await notesOf("share", { count: 20, stable: 81 }), []);
    assert.deepEqual(await notesOf("job", { job: "new" }), []);
  });
});
