import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createShop, DAY, type Fixture, idOf, NOW } from "./fixture.ts";

const ROUTE = "/api/repos/:owner/:name/groups";

describeWithDatabase("groups of tests that fail together", (database) => {
  let fixture: Fixture;
  let shop: Repository;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    const failed = (name: string, message: string) => ({
      name,
      conclusion: "failure" as const,
      message,
    });
    // By build: a and b fail together three times, c and d share a cause, e fails alone.
    const builds = [
      [failed("a", "no row"), failed("b", "timed out")],
      [failed("a", "no row"), failed("b", "timed out"), failed("e", "expected a Euro")],
      [failed("a", "no row"), failed("b", "timed out")],
      [failed("c", "connection refused by broker")],
      [failed("d", "connection refused by broker")],
    ];
    for (const [index, results] of builds.entries()) {
      await fixture.upload(shop, results, {
        branch: index % 2 === 0 ? "main" : "topic",
        commitOid: `c0ffee${index}`,
        buildUrl: `https://ci.example.com/${index}`,
        recordedAt: NOW - 1_000 + index,
      });
    }
    await fixture.upload(shop, [failed("old", "long ago")], { recordedAt: NOW - 15 * DAY });
  });

  it("come in the order of the builds they cost, then of the ids of their tests, with their causes", async () => {
    const response = await fixture.get("/api/repos/acme/shop/groups");
    const { count, groups } = await bodyOf(response, ROUTE);
    assert.equal(count, 3);
    assert.deepEqual(
      groups.map(({ builds, tests, fingerprints }: {
        builds: number;
        tests: { name: string }[];
        fingerprints: string[];
      }) => [builds, tests.map(({ name }) => name), fingerprints.length]),
      [[3, ["a", "b"], 2], [2, ["d", "c"], 1], [1, ["e"], 1]],
    );
    assert.equal(groups[0].tests[0].id, idOf(shop, { name: "a" }));
  });

  it("are what to repair first on the page of the repository", async () => {
    const page = await (await fixture.get("/repos/acme/shop")).text();
    const start = page.indexOf('id="repair"');
    const section = page.slice(start, page.indexOf("</table>", start));
    assert.match(
      section,
      /<bdi title="a">a<\/bdi><\/a><details><summary>and 1 more that fails with it<\/summary>/,
    );
    assert.match(section, /title="d">d<.*and 1 more that fails the same way<\/summary>/);
    assert.ok(section.indexOf('title="a"') < section.indexOf('title="c"'));
  });
});
