import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { organizationUuid } from "../../lib/base/identity.ts";
import { describeWithDatabase } from "../database.ts";
import { bodyOf, createFixture } from "./fixture.ts";

const ROUTE = "/api/me/organizations";

describeWithDatabase("GET /api/me/organizations", (database) => {
  it("lists the organization of the token, with a slug in lower case", async () => {
    const acme = await createFixture(database(), { name: "Acme GmbH Ünit" });
    const other = await createFixture(database(), { name: "other" });
    const id = organizationUuid(acme.organization.organizationId);
    assert.deepEqual(await bodyOf(await acme.get(ROUTE), ROUTE), {
      organizations: [{ id, name: "Acme GmbH Ünit", slug: "acme gmbh ünit" }],
    });
    const { organizations } = await bodyOf(await other.get(ROUTE), ROUTE);
    assert.deepEqual(organizations.map(({ name }: { name: string }) => name), ["other"]);
    assert.notEqual(organizations[0].id, id);
    assert.equal((await acme.get(`${ROUTE}?organization_id=${id}`)).status, 200);
    assert.equal((await other.get(`${ROUTE}?organization_id=${id}`)).status, 404);
  });
});
