import { after, before, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { join } from "node:path";
import { S3Bucket } from "../../../lib/cli/storage/s3_client.ts";
import { readS3Settings } from "../../../lib/cli/storage/s3_settings.ts";
import { describeWithDatabases } from "../../database.ts";
import { type S3Server, startS3Server } from "../../s3/server.ts";
import { reportOf } from "../report/archive/make_archive.ts";
import { commandLine } from "./run_in_process.ts";

describeWithDatabases("watch of a bucket", (database) => {
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
    await bucket.put("uploads/broken.gz", new Uint8Array([1, 2, 3]));
    await bucket.put("elsewhere/a.gz", new Uint8Array([1, 2, 3]));
    await bucket.put("uploads/readme.txt", new Uint8Array([1, 2, 3]));

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

  /** A service with one archive, which answers a request for it as told. */
  async function withArchive(
    answer: () => Response,
    body: (environment: Record<string, string>) => Promise<void>,
  ): Promise<void> {
    const list = "<ListBucketResult><Contents><Key>a.gz</Key></Contents></ListBucketResult>";
    const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
    const service = Deno.serve(
      options,
      ({ url }) => url.includes("list-type") ? new Response(list) : answer(),
    );
    try {
      const endpoint = `http://127.0.0.1:${service.addr.port}`;
      await body({ ...server.environment, AWS_ENDPOINT_URL: endpoint });
    } finally {
      await service.shutdown();
    }
  }

  it("ends the only look with 1 when an archive could not be read", async () => {
    const denied = () => new Response("", { status: 403 });
    await withArchive(denied, async (environment) => {
      const { code, stderr } = await commandLine(database, { environment })(
        "watch s3://ci --org acme --once",
      );
      assert.equal(code, 1);
      assert.match(stderr, /"key":"\S*a\.gz","reason":"GET \S*a\.gz at \S+: HTTP 403"/);
      assert.match(stderr, /error: 1 archive failed or left for later\n$/);
    });
  });

  it("releases its claim on an archive of an unresponsive service when stopped", async () => {
    const stop = new AbortController();
    const silent = () => {
      setTimeout(() => stop.abort(), 200);
      return new Response(new ReadableStream({ start: (it) => it.enqueue(new Uint8Array(1)) }));
    };
    await withArchive(silent, async (environment) => {
      const { code } = await commandLine(database, { environment, stop: stop.signal })(
        "watch s3://ci --org acme",
      );
      assert.equal(code, 0);
      const [archive] = await database().sql`
        select claim_id, attempt_count from archive where source = ${`s3://ci/ at ${environment.AWS_ENDPOINT_URL}`}`;
      assert.deepEqual({ ...archive }, { claim_id: null, attempt_count: 0 });
    });
  });
});
