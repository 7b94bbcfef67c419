/** `watch.ts`, after a submission was deleted. */
import { after, afterEach, before, beforeEach, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { S3Bucket } from "../../../../lib/storage/s3_client.ts";
import { readS3Settings } from "../../../../lib/storage/s3_storage.ts";
import { describeWithDatabase } from "../../../database.ts";
import { type S3Server, startS3Server } from "../../../s3/server.ts";
import { storedFile } from "../../../s3/stored_file.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { commandLine } from "../run_in_process.ts";
import { pause } from "../../../../lib/base/delay.ts";

/** Of every result: old enough for `prune`. */
const RECORDED_AT = 1_600_000_000;
const LONG_AGO = 1_700_000_000;

describeWithDatabase("watch, after a submission was deleted", (database) => {
  let server: S3Server;
  let folder: string;
  let next = 0;
  const run = async (line: string, expectedCode = 0) => {
    const { code, stdout, stderr } = await commandLine(database, {
      environment: server.environment,
      now: () => Math.floor(Date.now() / 1000),
    })(line);
    assert.equal(code, expectedCode, stderr);
    return stdout;
  };
  const watch = (source = folder) => run(`watch ${source} --org acme --once --workers 1`);

  before(async () => {
    server = await startS3Server("ci");
    await run("org create acme");
  });
  after(() => server.close());
  beforeEach(async () => {
    folder = await Deno.makeTempDir({ prefix: "test-analytics-watch-" });
  });
  afterEach(() => Deno.remove(folder, { recursive: true }));

  /** An archive whose bytes are the same each time. */
  async function archive(repository: string): Promise<Uint8Array<ArrayBuffer>> {
    return await archiveOf([
      [
        "buildpulse.yml",
        `:commit: abc0000\n:repo_name_with_owner: ${repository}\n` +
        `:timestamp: "${RECORDED_AT}000000000"\n`,
      ],
      ["test_results/a.xml", reportOf("a")],
    ]);
  }

  /** Writes an archive with a modification time some seconds after the first one. */
  async function put(key: string, repository: string, seconds = 0): Promise<void> {
    await Deno.writeFile(join(folder, key), await archive(repository));
    await Deno.utime(join(folder, key), LONG_AGO + seconds, LONG_AGO + seconds);
  }

  /** A repository, and keys that no other test has. */
  function newNames() {
    const no = next++;
    return { repository: `acme/repository-${no}`, a: `a${no}.gz`, b: `b${no}.gz` };
  }

  const deletions: [name: string, command: (repository: string, key: string) => string][] = [
    ["submission delete", (_, key) => `submission delete ${key} --org acme --yes`],
    ["repo delete", (repository) => `repo delete ${repository} --org acme --yes`],
    ["prune", (repository) => `prune --keep 90d --org acme --repo ${repository}`],
  ];
  for (const [name, deletion] of deletions) {
    it(`takes the archive only when it was written again: ${name}`, async () => {
      const { repository, a } = newNames();
      await put(a, repository);
      assert.equal(await watch(), `${a}\tprocessed\t1\n`);
      await run(deletion(repository, a));
      assert.equal(await watch(), "", "does not come back by itself");
      assert.match(await run(`watch ${folder} --list`), new RegExp(`^${a}\tdeleted\t`));
      await put(a, repository, 60);
      assert.equal(await watch(), `${a}\tprocessed\t1\n`);
      assert.equal(await watch(), "");
      await run(deletion(repository, a));
      assert.equal(await watch(), "");
    });
  }

  it("takes a duplicate of it when that was written again", async () => {
    const { repository, a, b } = newNames();
    await put(a, repository);
    await put(b, repository);
    assert.equal(await watch(), `${a}\tprocessed\t1\n${b}\tprocessed\t1\tduplicate\n`);
    assert.match(await run(`watch ${folder} --list`), new RegExp(`^${b}\tduplicate\t`, "m"));
    await run(`submission delete ${a} --org acme --yes`);
    assert.equal(await watch(), "");
    await put(b, repository, 60);
    assert.equal(await watch(), `${b}\tprocessed\t1\n`);
  });

  it("does not take one again whose submission exists", async () => {
    const { repository, a } = newNames();
    await put(a, repository);
    await watch();
    await put(a, repository, 60);
    assert.equal(await watch(), "");
    await run(`submission delete ${a} --org acme --yes`);
    assert.equal(await watch(), "", "does not come back by itself");
    await put(a, repository, 120);
    assert.equal(await watch(), `${a}\tprocessed\t1\n`);
  });

  it("keeps the archive of another folder with the same name", async () => {
    const { repository, a } = newNames();
    const folders = ["1", "2"].map((name) => join(folder, name));
    for (const [index, path] of folders.entries()) {
      await Deno.mkdir(path);
      await Deno.writeFile(
        join(path, a),
        await archiveOf([
          ["buildpulse.yml", `:commit: abc0000\n:repo_name_with_owner: ${repository}\n`],
          ["test_results/a.xml", reportOf(`test ${index}`)],
        ]),
      );
      await Deno.utime(join(path, a), LONG_AGO, LONG_AGO);
      assert.equal(await watch(path), `${a}\tprocessed\t1\n`);
    }
    const keys = (await run(`submission list --org acme --repo ${repository}`))
      .split("\n").map((line) => line.split("\t")[0]!);
    const second = keys.find((key) => new RegExp(`^${a}#[0-9a-f]{8}$`).test(key));
    assert.ok(second);
    await run(`submission delete ${second} --org acme --yes`);
    assert.deepEqual([await watch(folders[0]), await watch(folders[1])], ["", ""]);
    await Deno.utime(join(folders[1]!, a), LONG_AGO, LONG_AGO + 60);
    assert.equal(await watch(folders[1]), `${a}\tprocessed\t1\n`);
    assert.equal(await watch(folders[0]), "");
  });

  it("takes an object only when it was put again, with the same bytes too", async () => {
    const { repository, a } = newNames();
    const bucket = new S3Bucket("ci", readS3Settings(server.environment));
    const file = await storedFile(await archive(repository));
    await bucket.put(a, file);
    assert.equal(await watch("s3://ci"), `${a}\tprocessed\t1\n`);
    await run(`submission delete ${a} --org acme --yes`);
    assert.equal(await watch("s3://ci"), "");
    // The time of an object has whole seconds.
    await pause(1_100);
    await bucket.put(a, file);
    assert.equal(await watch("s3://ci"), `${a}\tprocessed\t1\n`);
  });

  it("does not take an object that an earlier version recorded without its time", async () => {
    const { repository, a } = newNames();
    const bucket = new S3Bucket("ci", readS3Settings(server.environment));
    await bucket.put(`earlier/${a}`, await storedFile(await archive(repository)));
    assert.equal(await watch("s3://ci/earlier"), `earlier/${a}\tprocessed\t1\n`);
    await database().sql`
      update archive set version = split_part(version, ' ', 1) where key = ${`earlier/${a}`}`;
    await run(`submission delete earlier/${a} --org acme --yes`);
    assert.equal(await watch("s3://ci/earlier"), "");
  });
});
