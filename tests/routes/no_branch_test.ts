import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { type Repository, setBaseBranch } from "../../db/admin/repositories.ts";
import { describeWithDatabases } from "../database.ts";
import { bodyOf, createShop, DAY, type Fixture, idOf, NOW } from "./fixture.ts";
import { parseHtml } from "./html.ts";

const NO_BRANCH = /no upload names its branch/i;
const HINT = "No upload names its branch: add branch= to the upload.";

describeWithDatabases("a repository of which no upload names its branch", (database) => {
  let fixture: Fixture;
  let shop: Repository;
  let submissionId: string;

  before(async () => {
    ({ fixture, shop } = await createShop(database()));
    for (const commitOid of ["aaaaaa1", "aaaaaa2", "aaaaaa3"]) {
      ({ submissionId } = await upload({ commitOid }));
    }
  });

  const upload = (more: Parameters<Fixture["upload"]>[2]) =>
    fixture.upload(shop, [{ name: "bad", conclusion: "failure", message: "boom" }], more);
  const pageOf = async (path: string) => parseHtml(await (await fixture.get(path)).text()).text;
  const baseOf = async (path: string, route: string): Promise<string> =>
    (await bodyOf(
      await fixture.get(`/api/repos/acme/shop/${path}`),
      `/api/repos/:owner/:name/${route}`,
    ))
      .base_branch;
  /** What each page and endpoint says of it. */
  const said = async () => ({
    repository: await pageOf("/repos/acme/shop"),
    test: await pageOf(`/tests/${idOf(shop, { name: "bad" })}`),
    build: await pageOf(`/repos/acme/shop/builds/${submissionId}`),
    verdicts: await baseOf(`verdicts?tests=${idOf(shop, { name: "bad" })}`, "verdicts"),
    conclusions: await baseOf("conclusions", "conclusions"),
  });

  it("says so, and what to do, in place of its history", async () => {
    const { repository, test, build, verdicts, conclusions } = await said();
    assert.ok(repository.includes(HINT));
    assert.match(test, /New: no upload names its branch: add branch= to the upload\./);
    assert.match(
      build,
      /probably yours: no upload names its branch, so there is no run to compare it with/,
    );
    assert.deepEqual([verdicts, conclusions], ["", ""]);
    assert.doesNotMatch([repository, test, build].join(), /on main|main has/);
  });

  it("says nothing of it once an upload of the last 90 days names a branch, or the base branch is known", async () => {
    const isSaid = async () => {
      const { verdicts, conclusions, ...pages } = await said();
      assert.equal(verdicts, conclusions);
      return [...Object.values(pages).map((text) => NO_BRANCH.test(text)), verdicts];
    };
    const all = [true, true, true, ""];
    await upload({ commitOid: "bbbbbb0", branch: "old", recordedAt: NOW - 91 * DAY });
    assert.deepEqual(await isSaid(), all);
    const { sql } = database();
    const setBase = (branch: string | null) =>
      sql.begin(async (tx) => {
        await tx`update repository set base_branch = ${branch} where repository_id = ${shop.repositoryId}`;
        await tx`
          update repository_state set data_version = data_version + 1
          where repository_id = ${shop.repositoryId}`;
      });
    await setBase("trunk");
    assert.deepEqual(await isSaid(), [false, false, false, "trunk"]);
    assert.match((await said()).test, /New: has no run on trunk\./);
    await setBase(null);
    assert.deepEqual(await isSaid(), all);
    await upload({ commitOid: "bbbbbb1", branch: "fix" });
    assert.deepEqual((await isSaid()).slice(0, 3), [false, false, false]);
  });
});

describeWithDatabases("a repository whose base branch has no run", (database) => {
  it("says so in place of its history, until it has one", async () => {
    const { fixture, shop } = await createShop(database());
    const page = async () => parseHtml(await (await fixture.get("/repos/acme/shop")).text()).text;
    const hint = "No run on mian, the base branch, is stored: repo set --base names another.";
    await setBaseBranch(database().sql, shop, "mian");
    // Without an upload there is nothing to say.
    assert.ok(!(await page()).includes(hint));
    await fixture.upload(shop, [{ name: "a" }], { branch: "main" });
    assert.ok((await page()).includes(hint), await page());
    await setBaseBranch(database().sql, shop, "main");
    assert.ok(!(await page()).includes("the base branch, is stored"));
  });
});
