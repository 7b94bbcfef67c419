import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { renameRepository } from "../../db/admin/repositories.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createFixture, type Fixture } from "./fixture.ts";

const ROUTE = "/api/me/repositories";

describeWithDatabase("GET /api/me/repositories", (database) => {
  let fixture: Fixture;

  before(async () => {
    fixture = await createFixture(database(), { name: "acme" });
    const shop = await fixture.addRepository("acme", "Shop", 7);
    await fixture.addRepository("Acme", "api");
    await fixture.addRepository("acme/web", "front");
    await fixture.upload(shop, [{ name: "a" }], { repositoryUrl: "https://github.com/acme/shop" });
    const other = await createFixture(database(), { name: "other" });
    await other.addRepository("acme", "hidden");
  });

  const list = async () => {
    const { repositories } = await bodyOf(await fixture.get(ROUTE), ROUTE);
    return repositories;
  };

  it("lists all repositories of the organization by full_name, in any case", async () => {
    assert.deepEqual(await list(), [
      { id: "1", name: "api", full_name: "Acme/api", url: "", description: "" },
      {
        id: "7",
        name: "Shop",
        full_name: "acme/Shop",
        url: "https://github.com/acme/shop",
        description: "",
      },
      { id: "2", name: "front", full_name: "acme/web/front", url: "", description: "" },
    ]);
  });

  it("shows new repositories and names at once", async () => {
    const before = (await fixture.get(ROUTE)).headers.get("etag")!;
    const added = await fixture.addRepository("acme", "zeta");
    assert.equal((await list()).at(-1).full_name, "acme/zeta");
    await database().sql.begin((tx) =>
      renameRepository(tx, added, { owner: "acme", name: "ZETA" })
    );
    const response = await fixture.get(ROUTE, { "if-none-match": before });
    const { repositories } = await bodyOf(response, ROUTE);
    assert.deepEqual(
      repositories.map(({ name }: { name: string }) => name),
      ["api", "Shop", "front", "ZETA"],
    );
  });

  it("is an empty list without repositories", async () => {
    const empty = await createFixture(database(), { name: "empty" });
    assert.deepEqual(await bodyOf(await empty.get(ROUTE), ROUTE), { repositories: [] });
  });
});
