import assert from "node:assert/strict";
import { before, it } from "@std/testing/bdd";
import { deleteRepository, type Repository } from "../../../db/admin/repositories.ts";
import { loadTexts } from "../../../db/read/texts.ts";
import { deleteSubmission } from "../../../db/write/delete_submission.ts";
import { pruneRepository } from "../../../db/write/prune.ts";
import type { FailureText } from "../../../lib/analysis/failure_texts.ts";
import { textIdOf } from "../../lib/analysis/text_ids.ts";
import type { TestResult } from "../../../lib/report/result.ts";
import { describeWithDatabases } from "../../database.ts";
import { createFixture, DAY, type Fixture, NOW } from "../../routes/fixture.ts";

/** A stack trace; those with one name have one cause. */
function trace(name: string, number = 0): FailureText {
  const message = `${name}: no answer after ${5000 + number} ms`;
  const frames = Array.from(
    { length: 30 },
    (_, index) =>
      `    at ${name}.step${index * 31 % 17} (src/${name}/part${index}.ts:${index + number}:5)`,
  );
  return { message, body: [message, ...frames].join("\n") };
}

function failures(...texts: FailureText[]): Partial<TestResult>[] {
  return texts.map((text, index) => ({ name: `test ${index}`, conclusion: "failure", ...text }));
}

describeWithDatabases("the texts of failures", (database) => {
  let fixture: Fixture;
  let names = 0;

  before(async () => {
    fixture = await createFixture(database(), { name: "texts" });
  });

  const newRepository = () => fixture.addRepository("acme", `texts-${names++}`);

  async function storedTexts({ repositoryId }: Repository) {
    return await database().sql<{ textId: string }[]>`
      select encode(text_id, 'hex') as "textId" from failure_text
      where repository_id = ${repositoryId}`;
  }

  /** Asserts that exactly these texts are stored and come back. */
  async function assertStored(repository: Repository, texts: FailureText[]): Promise<void> {
    const stored = (await storedTexts(repository)).map(({ textId }) => textId);
    assert.deepEqual(stored.toSorted(), texts.map(textIdOf).sort());
    await assertReadable(repository, texts);
  }

  async function assertReadable(repository: Repository, texts: FailureText[]): Promise<void> {
    const { repositoryId } = repository;
    const found = await loadTexts(database().sql, { repositoryId, textIds: texts.map(textIdOf) });
    assert.equal(found.size, texts.length);
    for (const text of texts) assert.deepEqual(found.get(textIdOf(text)), text);
  }

  async function remove(key: string): Promise<void> {
    const { organizationId } = fixture.organization;
    assert.ok(await deleteSubmission(database().sql, { organizationId, key }));
  }

  it("are stored once, whatever refers to them", async () => {
    const repository = await newRepository();
    const texts = [trace("A"), trace("B"), { message: "", body: "" }, {
      message: "only",
      body: "",
    }];
    await fixture.upload(repository, failures(...texts, ...texts));
    await fixture.upload(repository, failures(...texts.toReversed()));
    await assertStored(repository, texts);
  });

  it("are not shared by repositories", async () => {
    const [one, two] = [await newRepository(), await newRepository()];
    const { organizationId } = fixture.organization;
    await fixture.upload(one, failures(trace("A"), trace("A", 1)));
    await fixture.upload(two, failures(trace("A")));
    await assertStored(two, [trace("A")]);
    await deleteRepository(database().sql, { organizationId, repositoryId: one.repositoryId });
    assert.equal((await storedTexts(one)).length, 0);
    await assertStored(two, [trace("A")]);
  });

  it("go with the last submission that has them", async () => {
    const repository = await newRepository();
    const first = await fixture.upload(repository, failures(trace("A"), trace("B")));
    const second = await fixture.upload(repository, failures(trace("B"), trace("C")));
    await remove(first.key);
    await assertStored(repository, [trace("B"), trace("C")]);
    await remove(second.key);
    await assertStored(repository, []);
  });

  it("are pruned with the submissions that have them", async () => {
    const repository = await newRepository();
    const old = { recordedAt: NOW - 60 * DAY };
    await fixture.upload(repository, failures(trace("A", 1), trace("B"), trace("C", 1)), old);
    await fixture.upload(repository, failures(trace("A", 2), trace("D")), {
      commitOid: "c2c2c2c",
    });
    const { repositoryId } = repository;
    await pruneRepository(database().sql, { repositoryId, cutoff: NOW - 30 * DAY });
    await assertStored(repository, [trace("A", 2), trace("D")]);
  });

  it("come back when an upload of thousands brings as many", async () => {
    const repository = await newRepository();
    const texts = Array.from({ length: 3_000 }, (_, number) => trace("A", number));
    const { key } = await fixture.upload(repository, failures(...texts));
    await assertReadable(repository, texts.filter((_, number) => number % 97 === 0));
    assert.equal((await storedTexts(repository)).length, texts.length);
    await remove(key);
    await assertStored(repository, []);
  });
});
