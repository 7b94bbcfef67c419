import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { codeVersion } from "../../../lib/base/commit.ts";
import { describeWithDatabases } from "../../database.ts";
import { createShop } from "../../routes/fixture.ts";

describeWithDatabases("the code version of a run that is asked about", (database) => {
  it("is the one that its submission has", async () => {
    const { fixture, shop } = await createShop(database());
    for (
      const commit of ["4f9d1c2", "4f9d1c", "4F9D1C2e", "f".repeat(64), "f".repeat(65), "HEAD"]
    ) {
      for (const tree of ["", "9bd0e1f"]) {
        const { submissionId } = await fixture.upload(shop, [{ name: "a" }], {
          commitOid: commit,
          treeOid: tree || null,
        });
        const [row] = await database().sql<{ code: string }[]>`
          select code_version as code from submission
          where submission_id = decode(${submissionId}, 'hex')`;
        assert.equal(row!.code, codeVersion({ tree, commit }) ?? `submission:${submissionId}`);
      }
    }
  });
});
