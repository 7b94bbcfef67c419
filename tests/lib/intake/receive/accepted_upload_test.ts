/** `accept_upload.ts`: the archive that it puts into the inbox. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { ArchiveReader } from "../../../../lib/intake/archive_reader.ts";
import type { AcceptedUpload } from "../../../../lib/intake/accepted_uploads.ts";
import { fileSource } from "../../../../lib/storage/folder.ts";
import { describeWithDatabase } from "../../../database.ts";
import { NOON } from "../../cli/run_in_process.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { addOrganization, addToken, createReceiver, formOf, type Receiver } from "./receive.ts";

const SHA = "0123456789abcdef0123456789abcdef01234567";
const LCOV = "SF:a.ts\nDA:1,1\nDA:2,0\nend_of_record\n";

describeWithDatabase("an accepted upload", (database) => {
  let receiver: Receiver;
  let token = "";
  const accepted: AcceptedUpload[] = [];

  before(async () => {
    token = await addToken(database().sql, await addOrganization(database().sql, "acme"));
    receiver = await createReceiver(database().sql, {
      accepted: { add: (upload) => void accepted.push(upload) },
    });
  });
  after(() => receiver.close());

  const bodies: Record<string, () => Promise<BodyInit>> = {
    "one report": () => Promise.resolve(reportOf("adds")),
    "a form": () =>
      Promise.resolve(formOf([
        ["report", "attempt_10.xml", reportOf("a", "/src/shop/web/a.ts")],
        ["report", "attempt_2.xml", reportOf("b", "web/b.ts")],
        ["coverage", "lcov.info", LCOV],
        ["codeowners", "CODEOWNERS", "web/ @acme/web\n"],
      ])),
    "an archive": () =>
      archiveOf([
        ["test_results/b.xml", reportOf("b", "/src/shop/web/b.ts")],
        ["test_results/a.xml", reportOf("a")],
        ["coverage/lcov.info", LCOV],
        ["coverage/other.txt", "no coverage"],
        ["CODEOWNERS", "web/ @acme/web\n"],
        [
          "buildpulse.yml",
          `version: "1.0"\ngit:\n  commit: ${SHA}\n  checkout_folder: /src/shop\n` +
          "  repository_url: https://git.example/acme/shop.git\n" +
          "ci:\n  build_url: https://ci.example/1\ntags: [a, b]\n" +
          "timestamp: 2026-01-30T08:00:00Z\n",
        ],
      ]),
  };

  for (const [name, body] of Object.entries(bodies)) {
    it(`${name} is handed over as the archive in the inbox reads`, async () => {
      const path = `/upload/acme/shop?commit=${SHA}&branch=main`;
      const response = await receiver.send(path, token, { body: await body() });
      assert.equal(response.status, 202);
      const [upload] = accepted.splice(0);
      assert.ok(upload);
      const { key, notes = [] } = await response.json();
      assert.equal(key, upload.key);
      const archive = join(receiver.folder, upload.key);

      const reader = new ArchiveReader();
      const { facts, files } = await reader.read(fileSource(archive), {
        given: {},
        now: NOON,
        recordedAt: NOON,
        listener: { note: () => {} },
      });
      reader.close();
      assert.deepEqual(upload.read.facts, facts);
      assert.deepEqual(upload.read.files.notes, files.notes);
      assert.equal(notes.length, files.notes.length);
      assert.ok(upload.read.files.results && files.results);
      const { identityAt, forgetIdentities: _, ...content } = upload.read.files.results.content;
      const { identityAt: expectedAt, forgetIdentities: __, ...expected } = files.results.content;
      assert.deepEqual(content, expected);
      assert.deepEqual(identityAt(0), expectedAt(0));
      assert.equal(upload.read.files.results.reportDigest, files.results.reportDigest);
      assert.deepEqual(upload.read.files.results.testTags, files.results.testTags);
      assert.deepEqual(upload.read.files.coverage, files.coverage);
    });
  }

  it("a refused upload is not handed over", async () => {
    const response = await receiver.send(`/upload/acme/shop?commit=${SHA}`, token, { body: "<a>" });
    assert.equal(response.status, 400);
    await response.body?.cancel();
    assert.deepEqual(accepted, []);
  });
});
