/** `store_submission.ts`: digests stay the same between versions of the program. */
import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import type { Upload } from "../../../db/write/store_submission.ts";
import { commitSubmission } from "../../commit_submission.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization, newRepository } from "../../organizations.ts";

const NOW = 1_790_000_000;

/** First half of the SHA-256 of `["c","https://ci.example/1","00"]`. */
const DIGEST = "45f305d9f5c0cfac6658c90ad35fc013";
/** The id that it gives to a submission of acme/shop of the organization acme, at `NOW`. */
const ID = "6ab13b80ca765fe325fcae6f";

describeWithDatabases("digests of uploads", (database) => {
  function upload(repositoryId: number, names: string[], more: Partial<Upload> = {}) {
    const builder = new SubmissionBuilder();
    const same = { suite: "", class: "", file: "", durationMicroseconds: 0, message: "", body: "" };
    for (const name of names) builder.add({ ...same, name, conclusion: "passing" });
    return commitSubmission(database().sql, {
      repositoryId,
      commitOid: "c",
      treeOid: null,
      branch: null,
      buildUrl: "https://ci.example/1",
      tags: [],
      recordedAt: NOW,
      uploadedAt: NOW,
      reportDigest: "00",
      content: builder.finish(),
      coverage: null,
      ...more,
    });
  }

  async function digests(): Promise<(string | null)[]> {
    const rows = await database().sql<{ digest: string | null }[]>`
      select encode(upload_digest, 'hex') as digest from submission order by submission_id`;
    return rows.map(({ digest }) => digest);
  }

  it("are stored as 16 bytes", async () => {
    const { sql } = database();
    const { repositoryId } = await newRepository(sql, await newOrganization(sql));
    const { submissionId } = await upload(repositoryId, ["a", "b"]);
    assert.equal(submissionId, ID);
    assert.deepEqual(await digests(), [DIGEST]);
  });
});
