import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import type { Repository } from "../../db/admin/repositories.ts";
import { shortTestId } from "../../lib/base/identity.ts";
import { describeWithDatabases } from "../database.ts";
import { bodyOf, createShop, DAY, type Fixture, flaky, idOf, NOW, quarantine } from "./fixture.ts";

const VERDICTS = "/api/repos/:owner/:name/verdicts";

describeWithDatabases("verdicts", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    const failed = (name: string) => ({ name, conclusion: "failure" as const, message: "oops" });
    const upload = (commitOid: string, branch: string | null, days: number, names: string[]) =>
      fixture.upload(shop, names.map(failed), {
        commitOid,
        branch,
        recordedAt: NOW - days * DAY,
        buildUrl: `https://ci.example.org/${commitOid}`,
      });
    await upload("aaaaaa1", "main", 2, ["broken", "flaky", "aside"]);
    await upload("aaaaaa2", "main", 1, ["broken"]);
    await upload("aaaaaa3", "release/1", 1, ["released"]);
    await upload("aaaaaa4", null, 1, ["elsewhere"]);
    await upload("aaaaaa5", "main", 15, ["old"]);
    await fixture.upload(shop, [...flaky("flaky"), ...flaky("aside"), { name: "good" }], {
      commitOid: "bbbbbb1",
      branch: "topic",
    });
    await quarantine(database(), idOf(shop, { name: "aside" }));
    await fixture.upload(await fixture.addRepository("acme", "other"), [failed("elsewhere")]);
  });

  /** The verdicts by the name of the test. */
  async function verdicts(names: string[], query = ""): Promise<Record<string, string>> {
    const ids = names.map((name) => idOf(shop, { name })).join(",");
    const { tests } = await bodyOf(
      await fixture.get(`/api/repos/acme/shop/verdicts?tests=${ids}${query}`),
      VERDICTS,
    );
    return Object.fromEntries(
      tests.map(({ name, verdict }: Record<string, string>) => [name, verdict]),
    );
  }

  it("are the first of quarantined, flaky and known that applies; new failures are left out", async () => {
    const names = ["broken", "flaky", "aside", "released", "elsewhere", "old", "good", "missing"];
    assert.deepEqual(await verdicts(names), {
      aside: "quarantined",
      flaky: "flaky",
      broken: "known",
    });
    assert.deepEqual(await verdicts(["released", "broken"], "&base=release/*"), {
      released: "known",
    });
    assert.deepEqual(await verdicts(["released", "broken"], "&base=main,release/1"), {
      released: "known",
      broken: "known",
    });
  });

  it("come with the ratio, the latest disruption and the latest failure on the base", async () => {
    const ids = ["flaky", "broken"].map((name) => idOf(shop, { name })).sort();
    const { tests } = await bodyOf(
      await fixture.get(`/api/repos/acme/shop/verdicts?tests=${ids}`),
      VERDICTS,
    );
    assert.deepEqual(tests.map(({ id }: { id: string }) => id), ids);
    const shown = Object.fromEntries(
      tests.map(({ name, ...test }: { name: string }) => [name, test]),
    );
    assert.equal(shown.flaky.disruptiveness_ratio, 0.333);
    assert.equal(shown.flaky.recent_nondeterministic_negative_result.message, "flaky failed");
    assert.equal(shown.broken.disruptiveness_ratio, 0);
    assert.equal(shown.broken.recent_nondeterministic_negative_result, null);
    assert.deepEqual(shown.broken.recent_base_negative_result, {
      recorded_at: "2026-09-20T14:13:20Z",
      build_url: "https://ci.example.org/aaaaaa2",
      message: "oops",
    });
  });

  it("take the last 13 digits of an id, in any case, but no id of another repository", async () => {
    const identity = { suite: "suite", class: "Class", name: "flaky", file: "test.ts" };
    const short = shortTestId(identity);
    const id = idOf(shop, { name: "flaky" });
    const other = `${"0".repeat(11)}${short}`;
    for (
      const [tests, count] of [
        [short, 1],
        [short.toUpperCase(), 1],
        [` ${id.toUpperCase()} ,${short},`, 1],
        [other, 0],
      ] as const
    ) {
      const query = new URLSearchParams({ tests });
      const body = await bodyOf(
        await fixture.get(`/api/repos/acme/shop/verdicts?${query}`),
        VERDICTS,
      );
      assert.equal(body.tests.length, count, tests);
    }
  });

  it("change when a test leaves the quarantine or a failure the window", async () => {
    fixture.clock.now = NOW + 12 * DAY;
    assert.deepEqual(await verdicts(["broken"]), { broken: "known" });
    fixture.clock.now = NOW + 13 * DAY + 1;
    assert.deepEqual(await verdicts(["broken"]), {});
    fixture.clock.now = NOW;
  });
});
