import { before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { describeWithDatabase } from "../../../database.ts";
import {
  bodyOf,
  createFixture,
  DAY,
  type Fixture,
  flaky,
  idOf,
  NOW,
  quarantine,
} from "../../../routes/fixture.ts";
import { commandLine } from "../run_in_process.ts";

const LIST = "/api/repos/:owner/:name/tests";

describeWithDatabase("flaky", (database) => {
  const cli = commandLine(database, { now: () => NOW });
  let fixture: Fixture;
  let ids: Record<"adds" | "pays" | "ships", string>;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    const shop = await fixture.addRepository("acme", "shop");
    const api = await fixture.addRepository("acme", "api");
    await fixture.upload(shop, [...flaky("adds"), { name: "adds" }], { branch: "main" });
    await fixture.upload(shop, flaky("pays", { file: "web/checkout/payment_test.ts" }), {
      commitOid: "c2c2c2c",
      recordedAt: NOW - 3 * DAY,
    });
    await fixture.upload(shop, flaky("old"), { recordedAt: NOW - 20 * DAY });
    await fixture.upload(api, flaky("ships"), { recordedAt: NOW - 7200 });
    ids = {
      adds: idOf(shop, { name: "adds" }),
      pays: idOf(shop, { name: "pays", file: "web/checkout/payment_test.ts" }),
      ships: idOf(api, { name: "ships" }),
    };
    await quarantine(database(), ids.pays);
    await fixture.addRepository("acme", "empty");
  });

  it("prints the same tests as the API", async () => {
    const queries = [
      "",
      "sort=recency",
      "q=pays",
      "branch=main",
      "limit=1",
      "q=first-seen:<2026-09-20",
    ];
    for (const query of queries) {
      const options = [...new URLSearchParams(query)].flatMap((
        [name, value],
      ) => [`--${name}`, value]);
      const { code, stdout, stderr } = await cli(
        ["flaky", "--org", "ACME", "--repo", "acme/Shop", "--json", ...options],
      );
      assert.deepEqual([code, stderr], [0, ""]);
      const response = await fixture.get(`/api/repos/acme/shop/tests?${query}&limit=25`);
      assert.deepEqual(JSON.parse(stdout), (await bodyOf(response, LIST)).tests, query);
    }
  });

  it("names the repositories when it lists all of an organization", async () => {
    const { stdout } = await cli("flaky --json --sort recency");
    const found = JSON.parse(stdout).map((
      { id, repository }: Record<string, string>,
    ) => [id, repository]);
    assert.deepEqual(found, [
      [ids.adds, "acme/shop"],
      [ids.ships, "acme/api"],
      [ids.pays, "acme/shop"],
    ]);
  });

  it("prints tab-separated lines if it is not a terminal", async () => {
    const { code, stdout, stderr } = await cli("flaky --repo acme/shop");
    assert.deepEqual([code, stderr], [0, ""]);
    assert.deepEqual(stdout.split("\n"), [
      `${ids.pays}\tacme/shop\t0.5\t1\t2026-09-18T14:13:20Z\tsuite\tClass\tpays\tweb/checkout/payment_test.ts`,
      `${ids.adds}\tacme/shop\t0.333\t1\t2026-09-21T14:11:40Z\tsuite\tClass\tadds\ttest.ts`,
      "",
    ]);
  });

  it("prints a table on a terminal", async () => {
    const { stdout, stderr } = await cli("flaky --repo acme/shop", { columns: 53 });
    assert.equal(
      stdout,
      "  RATE  FAILS    LAST  TEST  ID\n" +
        `  50 %      1  3d ago  * p…  ${ids.pays}\n` +
        `33.3 %      1  1m ago  adds  ${ids.adds}\n` +
        "* quarantined\n",
    );
    const several = await cli("flaky", { columns: 80 });
    assert.match(several.stdout, / REPOSITORY +ID\n/);
    assert.match(several.stdout, new RegExp(` ships +api +${ids.ships}\n`));
    const wide = await cli("flaky --repo acme/shop", { columns: 100 });
    assert.match(
      wide.stdout,
      / FILE +ID\n.* pays +web\/checkout\/payment_test\.ts +[0-9a-f]{24}\n/,
    );
    assert.equal(stderr, "\nflaky in the last 14 days: 2; --json has more\n");
    const all = await cli("flaky --limit 1", { columns: 80 });
    assert.match(all.stderr, /: 3, 1 shown \(--limit\);/);
    assert.match((await cli("flaky", { columns: 120 })).stdout, / REPOSITORY +ID\n[^]* acme\/api /);
  });

  it("marks a quarantine that is limited to environments on a terminal", async () => {
    await quarantine(database(), ids.ships, { quarantineEnvironment: "Windows*" });
    const { stdout } = await cli("flaky", { columns: 100 });
    assert.match(stdout, / \* pays /);
    assert.match(stdout, / \+ ships /);
    assert.match(stdout, /\n\* quarantined\n\+ quarantined in some environments only\n$/);
  });

  it("says so when there is nothing to list", async () => {
    const { code, stdout, stderr } = await cli("flaky --repo acme/empty", { columns: 80 });
    assert.deepEqual([code, stdout], [0, ""]);
    assert.match(stderr, /^no flaky tests in the last 14 days: /);
    assert.equal((await cli("flaky --repo acme/empty --json")).stdout, "[]\n");
  });

  it("rejects unknown names and invalid options", async () => {
    const unknown = await cli("flaky --repo acme/none");
    assert.equal(unknown.code, 1);
    assert.match(unknown.stderr, /repository "acme\/none" is unknown in "acme"/);
    const wrong = await cli("flaky --sort age --q last-seen:never --limit 0");
    assert.equal(wrong.code, 2);
    for (const name of ["sort", "q", "limit"]) {
      assert.match(wrong.stderr, new RegExp(`--${name}: `));
    }
    await cli("org create beta");
    assert.equal((await cli("flaky --repo acme/shop")).code, 0);
    const several = await cli("flaky");
    assert.equal(several.code, 2);
    assert.match(
      several.stderr,
      /^error: missing option '--org <name>': expected one of "acme", "beta"/,
    );
  });
});
