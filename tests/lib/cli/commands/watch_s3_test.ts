/** `watch.ts`, of a bucket. */
import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { S3Bucket } from "../../../../lib/storage/s3_client.ts";
import { readS3Settings } from "../../../../lib/storage/s3_storage.ts";
import { describeWithDatabase } from "../../../database.ts";
import { type S3Server, startS3Server } from "../../../s3/server.ts";
import { storedFile } from "../../../s3/stored_file.ts";
import { archiveOf, reportOf } from "../../report/archive/make_archive.ts";
import { commandLine } from "../run_in_process.ts";

describeWithDatabase("watch of a bucket", (database) => {
  let server: S3Server;
  before(async () => {
    server = await startS3Server("ci");
    await commandLine(database)("org create acme");
  });
  after(() => server.close());
  const run = (argv: string[]) =>
    commandLine(database)(argv, {
      environment: server.environment,
      now: () => Math.floor(Date.now() / 1000),
    });

  it("processes an archive that `upload` put there, once, with the object's key", async () => {
    const reports = await Deno.makeTempDir();
    await Deno.writeTextFile(join(reports, "a.xml"), reportOf("a"));
    const uploaded = await run([
      ..."upload --to s3://ci/uploads/ --repo acme/shop --commit abc0000".split(" "),
      reports,
    ]);
    await Deno.remove(reports, { recursive: true });
    assert.equal(uploaded.code, 0, uploaded.stderr);
    assert.match(
      uploaded.stdout,
      /^s3:\/\/ci\/uploads\/acme\/shop\/\d{8}T\d{6}Z-[0-9a-f]{16}\.gz\n$/,
    );
    const bucket = new S3Bucket("ci", readS3Settings(server.environment));
    const broken = await storedFile("123");
    for (const key of ["uploads/broken.gz", "elsewhere/a.gz", "uploads/readme.txt"]) {
      await bucket.put(key, broken);
    }

    const first = await run("watch s3://ci/uploads --org acme --once --workers 1".split(" "));
    const key = uploaded.stdout.trim().replace("s3://ci/", "");
    assert.equal(first.code, 1);
    assert.match(first.stdout, new RegExp(`^${key}\tprocessed\t1\nuploads/broken.gz\tfailed\t`));
    const again = await run("watch s3://ci/uploads --org acme --once --workers 1".split(" "));
    assert.deepEqual([again.code, again.stdout], [0, ""]);
    const list = await run("submission list --org acme --repo acme/shop".split(" "));
    assert.ok(list.stdout.startsWith(`${key}\t`), list.stdout);
  });

  it("says what is wrong when the bucket cannot be read", async () => {
    const { code, stderr } = await run("watch s3://none --org acme --once".split(" "));
    assert.equal(code, 1);
    assert.match(stderr, /^error: GET list at http:\S+\/none: HTTP 404 NoSuchBucket/);
  });

  /** A service with archives, which responds to requests for them as given. */
  async function withArchives(
    keys: string[],
    answer: (key: string) => BodyInit | Response,
    body: (environment: Record<string, string>) => Promise<void>,
  ): Promise<void> {
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    const service = Deno.serve(options, ({ url }) => {
      if (!url.includes("list-type")) {
        const answered = answer(url.slice(url.lastIndexOf("/") + 1));
        return answered instanceof Response ? answered : new Response(answered);
      }
      const objects = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join("");
      return new Response(`<ListBucketResult>${objects}</ListBucketResult>`);
    });
    try {
      const endpoint = `http://127.0.0.1:${service.addr.port}`;
      await body({ ...server.environment, AWS_ENDPOINT_URL: endpoint });
    } finally {
      await service.shutdown();
    }
  }

  it("exits with 1 after --once when an archive could not be read", async () => {
    const denied = () => new Response("", { status: 403 });
    await withArchives(["a.gz"], denied, async (environment) => {
      const { code, stderr } = await commandLine(database, { environment })(
        "watch s3://ci --org acme --once",
      );
      assert.equal(code, 1);
      assert.match(stderr, /"key":"\S*a\.gz","reason":"GET \S*a\.gz at \S+: HTTP 403"/);
      assert.match(stderr, /error: 1 archive failed or will be retried\n$/);
    });
  });

  it("processes other archives while one is slow, and stops without waiting for it", async () => {
    const stop = new AbortController();
    const keys = ["slow.gz"];
    const other = await archiveOf([
      ["buildpulse.yml", ":commit: abc0000\n:repo_name_with_owner: acme/other\n"],
      ["test_results/a.xml", reportOf("a")],
    ]);
    const answer = (key: string) => {
      if (key !== "slow.gz") return other;
      keys.push("later.gz");
      // Its first byte, and then nothing.
      return new ReadableStream({ start: (it) => it.enqueue(new Uint8Array(1)) });
    };
    await withArchives(keys, answer, async (environment) => {
      const run = commandLine(database, { environment, stop: stop.signal });
      const printed: string[] = [];
      let stoppedAt = Infinity;
      const { code } = await run("watch s3://ci --org acme --interval 1s --workers 2", {
        now: () => Math.floor(Date.now() / 1000),
        stdout(text) {
          printed.push(text);
          stoppedAt = performance.now();
          stop.abort();
          return Promise.resolve();
        },
      });
      assert.equal(code, 0);
      assert.ok(performance.now() - stoppedAt < 10_000);
      assert.deepEqual(printed, ["later.gz\tprocessed\t1\n"]);
      const [archive] = await database().sql`
        select status, claim_id, attempt_count from archive
        where source = ${`s3://ci/ at ${environment.AWS_ENDPOINT_URL}`} and key = 'slow.gz'`;
      const free = { status: "processing", claim_id: null, attempt_count: 0 };
      assert.deepEqual({ ...archive }, free, "for another watcher");
    });
  });
});
