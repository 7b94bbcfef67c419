/** `conclusions.ts`: what became of failures, and what pages say of it. */
import assert from "node:assert/strict";
import { beforeEach, it } from "@std/testing/bdd";
import type { Repository } from "../../db/admin/repositories.ts";
import type { Upload } from "../../db/write/store_submission.ts";
import { describeWithDatabase } from "../database.ts";
import { createFixture, DAY, type Fixture, NOW } from "./fixture.ts";

const PATH = "/api/repos/acme/shop/conclusions";

describeWithDatabase("the record of conclusions", (database) => {
  let fixture: Fixture;
  let repository: Repository;
  let organizations = 0;
  let minute = 0;

  beforeEach(async () => {
    fixture = await createFixture(database(), { name: `record-${++organizations}` });
    repository = await fixture.addRepository("acme", "shop");
  });

  async function run(message: string | null, more: Partial<Upload> = {}) {
    const failed = message === null ? {} : { conclusion: "failure" as const, message };
    return await fixture.upload(repository, [{ name: "pays", ...failed }, { name: "other" }], {
      recordedAt: NOW - DAY + 60 * ++minute,
      branch: "main",
      job: "unit",
      ...more,
    });
  }

  const get = async (path = PATH) => await (await fixture.get(path)).json();
  const page = async () => await (await fixture.get("/repos/acme/shop")).text();

  it("says what became of the failures of each evidence", async () => {
    assert.deepEqual(await get(), {
      conclusions: [],
      brier: null,
      brier_base_rate: null,
      base_branch: "main",
    });
    await run(null, { commitOid: "aaaaaaa1" });
    const mine = { branch: "mine", commitOid: "bbbbbbb1" };
    await run("timeout", mine);
    const few = {
      evidence: "few",
      base: false,
      said: 1,
      not_the_change: 0,
      the_change: 0,
      open: 1,
    };
    assert.deepEqual((await get()).conclusions, [few]);
    assert.match(await page(), /Of 1 failure in the last 90 days none has shown yet/);
    await run(null, mine);
    assert.deepEqual(await get(), {
      conclusions: [{ ...few, not_the_change: 1, open: 0 }],
      // It was unclear, which is one half.
      brier: 0.25,
      brier_base_rate: 0,
      base_branch: "main",
    });
    assert.match(await page(), /Of 1 failure in the last 90 days [^]*: 1 was called unclear\./);
  });

  it("is of the last days only", async () => {
    await run("timeout", { recordedAt: NOW - 40 * DAY });
    assert.equal((await get()).conclusions.length, 1);
    assert.deepEqual((await get(`${PATH}?days=30`)).conclusions, []);
    const { status } = await fixture.get(`${PATH}?days=0`);
    assert.equal(status, 400);
  });

  it("is read as lines", async () => {
    await run("timeout");
    assert.equal(
      await (await fixture.get(`${PATH}.csv`)).text(),
      "evidence,base,said,not_the_change,the_change,open\r\nnew_test,true,1,0,0,1\r\n",
    );
  });

  it("has the published shares of a year of Apache Ozone on the page before there is one", async () => {
    const text = await page();
    assert.match(
      text,
      /No test failed in the last 90 days: until then a year of Apache Ozone stands in\./,
    );
    assert.match(
      text,
      /Failed the same way before, on the base branch or another<\/th><td[^>]*>100 %<\/td><td[^>]*>107 of 107/,
    );
  });

  it("is of the evidence that the tests of a submission have", async () => {
    await run(null, { commitOid: "aaaaaaa1" });
    const { submissionId } = await run("timeout", { branch: "mine", commitOid: "bbbbbbb1" });
    const { tests } = await get(`/api/repos/acme/shop/submissions/${submissionId}/tests`);
    const none = { share: null, share_of: null, share_from: null, evidence_url: "" };
    assert.deepEqual(
      tests.map(({ name, evidence, blame, share, share_of, share_from, evidence_url }: never) => ({
        name,
        evidence,
        blame,
        share,
        share_of,
        share_from,
        evidence_url,
      })),
      [
        { name: "pays", evidence: "few", blame: "unclear", ...none },
        { name: "other", evidence: null, blame: null, ...none },
      ],
    );
  });
});
