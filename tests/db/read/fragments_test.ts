import assert from "node:assert/strict";
import { it } from "@std/testing/bdd";
import { loadDisruptionEvents } from "../../../db/read/disruption_events.ts";
import { commitSubmission } from "../../commit_submission.ts";
import { SubmissionBuilder } from "../../../lib/analysis/submission_content.ts";
import { describeWithDatabases } from "../../database.ts";
import { newOrganization, newRepository } from "../../organizations.ts";

const NOW = 1_790_000_000;
const DAY = 24 * 60 * 60;

describeWithDatabases("failures", (database) => {
  async function addRepository(): Promise<number> {
    const { sql } = database();
    const organization = await newOrganization(sql, crypto.randomUUID());
    return (await newRepository(sql, organization)).repositoryId;
  }

  /** Stores a submission in which each test fails with its message and then passes. */
  async function upload(repositoryId: number, messages: string[], recordedAt = NOW - 100) {
    const builder = new SubmissionBuilder();
    messages.forEach((message, test) => {
      const identity = { suite: "", class: "", name: `t${test}`, file: "" };
      const result = { ...identity, durationMicroseconds: 0, body: "" };
      builder.add({ ...result, conclusion: "failure", message });
      builder.add({ ...result, conclusion: "passing", message: "" });
    });
    await commitSubmission(database().sql, {
      repositoryId,
      commitOid: `c${recordedAt}`,
      treeOid: null,
      branch: null,
      buildUrl: "",
      tags: [],
      recordedAt,
      uploadedAt: NOW,
      reportDigest: "00",
      content: builder.finish(),
      coverage: null,
    });
  }

  async function messagesOf(repositoryId: number, name: string, windowStart = NOW - 14 * DAY) {
    const { sql } = database();
    const [test] = await sql<{ no: number }[]>`
      select test_no as no from test where repository_id = ${repositoryId} and name = ${name}`;
    const events = await loadDisruptionEvents(sql, {
      repositoryId,
      testNo: test!.no,
      windowStart,
      limit: 10,
    });
    return events.map(({ message }) => message);
  }

  it("that share a message show it, next to those that do not", async () => {
    const repositoryId = await addRepository();
    await upload(repositoryId, ["away", "own", "away", "", ""]);
    for (const [test, message] of ["away", "own", "away", "", ""].entries()) {
      assert.deepEqual(await messagesOf(repositoryId, `t${test}`), [message]);
    }
  });

  it("are found to the second at which the window begins, newest first", async () => {
    const repositoryId = await addRepository();
    const times = [0, 1, 2, 6, 7, 13].map((days) => NOW - days * DAY);
    for (const time of times) await upload(repositoryId, [`at ${time}`], time);
    for (const [count, time] of times.entries()) {
      const since = times.slice(0, count + 1).map((each) => `at ${each}`);
      assert.deepEqual(await messagesOf(repositoryId, "t0", time), since);
      assert.deepEqual(await messagesOf(repositoryId, "t0", time + 1), since.slice(0, -1));
    }
  });
});
