/** `s3_client.ts` and `s3_storage.ts`, with a server that checks signatures. */
import { after, before, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { AwsV4Signer } from "aws4fetch";
import { S3Bucket } from "../../../lib/storage/s3_client.ts";
import { parseS3Url, readS3Settings, S3Storage } from "../../../lib/storage/s3_storage.ts";
import { StorageError } from "../../../lib/storage/storage.ts";
import { openTarget } from "../../../lib/storage/inbox.ts";
import { type S3Server, startS3Server } from "../../s3/server.ts";
import { storedFile } from "../../s3/stored_file.ts";

const repository = { owner: "acme", name: "shop" };
const bytes = (text: string) => new TextEncoder().encode(text);
const textOf = (pieces: AsyncIterable<Uint8Array>) =>
  new Response(ReadableStream.from(pieces)).text();
const list = async (bucket: S3Bucket, prefix = "") =>
  (await Array.fromAsync(bucket.list(prefix))).flat();
const KEYS = readS3Settings({ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" });

/** Runs `body` with the address of a server whose responses `answer` returns. */
async function withServer(
  answer: () => Response,
  body: (endpoint: string) => Promise<void>,
): Promise<void> {
  const options = { port: 0, hostname: "127.0.0.1", onListen: () => {} };
  const server = Deno.serve(options, answer);
  try {
    await body(`http://127.0.0.1:${server.addr.port}`);
  } finally {
    await server.shutdown();
  }
}

/** A response that stalls after its first bytes. */
const stalling = () =>
  new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(bytes("<ListBucketResult>")),
    }),
  );

describe("an S3-compatible bucket", () => {
  let server: S3Server;
  let bucket: S3Bucket;

  before(async () => {
    server = await startS3Server("ci", "ci.with.dots");
    bucket = new S3Bucket("ci", readS3Settings(server.environment));
  });
  after(() => server.close());

  const NAMES = [
    "plain.gz",
    "a b+c&d=e%20.gz",
    "ümlaut/(x)'!*.gz",
    "owner/name/deep.gz",
    "<&>.gz",
  ];

  it("returns stored objects under any name", async () => {
    for (const name of NAMES) {
      await bucket.put(`names/${name}`, await storedFile(name));
      assert.equal(await textOf(bucket.get(`names/${name}`, "")), name);
    }
    const objects = await list(bucket, "names/");
    assert.deepEqual(objects.map(({ key }) => key).sort(), NAMES.map((n) => `names/${n}`).sort());
    for (const { etag, modifiedAt } of objects) {
      assert.match(etag, /^"[0-9a-f]{32}"$/);
      assert.ok(Math.abs(modifiedAt - Date.now() / 1000) < 60);
    }
  });

  it("is listed page by page", async () => {
    const file = await storedFile("x");
    const keys = Array.from({ length: 1_100 }, (_, i) => `many/${String(i).padStart(4, "0")}.gz`);
    for (let at = 0; at < keys.length; at += 50) {
      await Promise.all(keys.slice(at, at + 50).map((key) => bucket.put(key, file)));
    }
    await bucket.put("many/readme.txt", file);
    const storage = new S3Storage(
      { bucket: "ci", prefix: "many/" },
      readS3Settings(server.environment),
    );
    const found: string[] = [];
    for await (const batch of storage.list()) found.push(...batch.map(({ key }) => key));
    assert.deepEqual(found, keys);
  });

  it("is not listed for ever when the service repeats a page", async () => {
    let requests = 0;
    const repeating = () => {
      requests++;
      return new Response(
        "<ListBucketResult><NextContinuationToken>again</NextContinuationToken></ListBucketResult>",
      );
    };
    await withServer(repeating, async (endpoint) => {
      const storage = new S3Storage({ bucket: "ci", prefix: "" }, { ...KEYS, endpoint });
      await assert.rejects(Array.fromAsync(storage.list()), {
        name: "StorageError",
        message: /^http\S+\/ci: the list repeats itself/,
      });
    });
    assert.equal(requests, 2);
  });

  it("may have dots in its name", async () => {
    const dotted = new S3Bucket("ci.with.dots", readS3Settings(server.environment));
    await dotted.put("a.gz", await storedFile("x"));
    assert.equal((await list(dotted)).length, 1);
  });

  it("rejects wrong credentials and unknown names in one line without secrets", async () => {
    const wrong = { ...server.environment, AWS_SECRET_ACCESS_KEY: "wrong-secret" };
    await assert.rejects(list(new S3Bucket("ci", readS3Settings(wrong))), (error: Error) => {
      assert.ok(error instanceof StorageError);
      assert.match(error.message, /^GET list at http:\S+\/ci: HTTP 403 SignatureDoesNotMatch/);
      assert.doesNotMatch(error.message, /wrong-secret/);
      return true;
    });
    await assert.rejects(textOf(bucket.get("none.gz", "")), { message: /HTTP 404 NoSuchKey/ });
    const none = new S3Bucket("none", readS3Settings(server.environment));
    await assert.rejects(list(none), { message: /HTTP 404 NoSuchBucket/ });
    await assert.rejects(textOf(bucket.get("a/../b.gz", "")), {
      message: /cannot be part of a URL/,
    });
  });

  it("takes a file as it is read, and says why it does not", async () => {
    const large = new Uint8Array(5_000_000).fill(65);
    const file = await storedFile(large);
    try {
      await bucket.put("large.gz", file);
      assert.equal((await textOf(bucket.get("large.gz", ""))).length, large.length);
      const none = new S3Bucket("none", readS3Settings(server.environment));
      await assert.rejects(none.put("a.gz", file), { message: /HTTP 404 NoSuchBucket/ });
      const away = new S3Bucket("ci", { ...KEYS, endpoint: "http://127.0.0.1:1" });
      await assert.rejects(away.put("a.gz", file), { name: "StorageError", message: /refused/i });
    } finally {
      await Deno.remove(file.path);
    }
  });

  it("takes an archive through an address that was signed for it", async () => {
    const signed = await new AwsV4Signer({
      method: "PUT",
      url: `${server.endpoint}/ci/presigned/a.gz?X-Amz-Expires=300`,
      accessKeyId: "TESTKEY",
      secretAccessKey: "TESTSECRET",
      service: "s3",
      region: "us-east-1",
      signQuery: true,
    }).sign();
    const target = openTarget(signed.url.href, { environment: {}, repository });
    assert.equal(
      await target.put(await storedFile("signed"), "ignored.gz"),
      `${server.endpoint}/ci/presigned/a.gz`,
    );
    assert.equal(await textOf(bucket.get("presigned/a.gz", "")), "signed");

    const forged = signed.url.href.replace(/Signature=.{6}/, "Signature=000000");
    const refused = openTarget(forged, { environment: {}, repository });
    await assert.rejects(refused.put(await storedFile("x"), "a.gz"), (error: Error) => {
      assert.match(error.message, /^PUT http:\S+\/ci\/presigned\/a\.gz: HTTP 403/);
      assert.doesNotMatch(error.message, /Signature=/);
      return true;
    });
  });

  it("names why an address cannot be reached, without its secrets", async () => {
    const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const host = `127.0.0.1:${listener.addr.port}`;
    listener.close();
    const address = `http://ada:secret-password@${host}/a.gz?Signature=secret-signature`;
    const target = openTarget(address, { environment: {}, repository });
    await assert.rejects(target.put(await storedFile("x"), "a.gz"), (error: Error) => {
      assert.ok(error instanceof StorageError);
      assert.match(error.message, /^PUT http:\/\/127\.0\.0\.1:\d+\/a\.gz: .*refused/i);
      assert.doesNotMatch(error.message, /secret/);
      return true;
    });
  });

  it("takes an archive below a prefix", async () => {
    const target = openTarget("s3://ci/below", {
      environment: server.environment,
      repository,
    });
    assert.equal(
      await target.put(await storedFile("y"), "acme/shop/x.gz"),
      "s3://ci/below/acme/shop/x.gz",
    );
    assert.equal(await textOf(bucket.get("below/acme/shop/x.gz", "")), "y");
  });
});

describe("an unreliable S3 service", () => {
  it("is retried, then fails with a reason", async () => {
    let requests = 0;
    let healthyFrom = 3;
    const server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, () => {
      requests++;
      return requests < healthyFrom
        ? new Response("<Error><Code>SlowDown</Code><Message>wait</Message></Error>", {
          status: 503,
        })
        : new Response("<ListBucketResult><Contents><Key>a.gz</Key></Contents></ListBucketResult>");
    });
    try {
      const bucket = new S3Bucket("ci", {
        ...readS3Settings({ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }),
        endpoint: `http://127.0.0.1:${server.addr.port}`,
      });
      assert.equal((await list(bucket))[0]?.key, "a.gz");
      healthyFrom = 100;
      await assert.rejects(list(bucket), { message: /: HTTP 503 SlowDown wait$/ });
    } finally {
      await server.shutdown();
    }
  });

  it("is refused when it answers something else", async () => {
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      () => new Response("<html><body>Welcome</body></html>"),
    );
    try {
      const bucket = new S3Bucket("ci", {
        ...readS3Settings({ AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" }),
        endpoint: `http://127.0.0.1:${server.addr.port}`,
      });
      await assert.rejects(list(bucket), { message: /not a list of objects/ });
    } finally {
      await server.shutdown();
    }
  });
});

describe("a service that stops responding", () => {
  it("is given up when no piece of an object or list comes in time", async () => {
    await withServer(stalling, async (endpoint) => {
      const bucket = new S3Bucket("ci", { ...KEYS, endpoint }, { idleMs: 100 });
      for (
        const read of [() => textOf(bucket.get("a.gz", "")), () => list(bucket)]
      ) {
        await assert.rejects(read(), (error: Error) => {
          assert.ok(error instanceof StorageError);
          assert.match(error.message, /^GET (a\.gz|list) at \S+: no data for 0\.1 s$/);
          return true;
        });
      }
    });
  });

  it("is abandoned immediately when stopped", async () => {
    await withServer(stalling, async (endpoint) => {
      const stop = new AbortController();
      const bucket = new S3Bucket("ci", { ...KEYS, endpoint }, { stop: stop.signal });
      const object = textOf(bucket.get("a.gz", ""));
      setTimeout(() => stop.abort(), 100);
      await assert.rejects(object, { name: "StorageError", message: /stopped$/ });
      await assert.rejects(list(bucket), { name: "StorageError", message: /stopped$/ });
    });
  });

  it("fails with a StorageError when the connection is cut", async () => {
    const listener = Deno.listen({ port: 0, hostname: "127.0.0.1" });
    const serving = (async () => {
      using connection = await listener.accept();
      await connection.read(new Uint8Array(10_000));
      await connection.write(bytes("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort"));
    })();
    const endpoint = `http://127.0.0.1:${listener.addr.port}`;
    const object = new S3Storage({ bucket: "ci", prefix: "" }, { ...KEYS, endpoint })
      .open({ key: "a.gz", version: "", uploadedAt: 0, isComplete: true });
    await assert.rejects(textOf(object.open()), {
      name: "StorageError",
      message: /^GET a\.gz at http:/,
    });
    await serving;
    listener.close();
  });
});

describe("keys that no database can store", () => {
  it("are skipped, and the others are listed", async () => {
    const page = "<ListBucketResult><EncodingType>url</EncodingType><Contents><Key>a%00.gz</Key>" +
      "</Contents><Contents><Key>b.gz</Key></Contents></ListBucketResult>";
    await withServer(() => new Response(page), async (endpoint) => {
      const storage = new S3Storage({ bucket: "ci", prefix: "" }, { ...KEYS, endpoint });
      const batches = await Array.fromAsync(storage.list());
      assert.deepEqual(batches.flat().map(({ key }) => key), ["b.gz"]);
    });
  });
});

describe("the address of a bucket", () => {
  it("is a bucket and a prefix", () => {
    assert.deepEqual(parseS3Url("s3://ci", "--to"), { bucket: "ci", prefix: "" });
    assert.deepEqual(parseS3Url("s3://ci/", "--to"), { bucket: "ci", prefix: "" });
    assert.deepEqual(parseS3Url("s3://2019.ci-uploads/a/b", "--to"), {
      bucket: "2019.ci-uploads",
      prefix: "a/b/",
    });
    for (const wrong of ["s3://", "s3:///a", "s3://a b/c", "s3://-x"]) {
      assert.throws(() => parseS3Url(wrong, "--to"), {
        message: /^--to: .*expected a folder or s3:/,
      });
    }
  });

  it("is not a folder or any other URL", () => {
    for (const folder of ["reports", "/srv/reports", "C:\\\\reports"]) {
      assert.equal(parseS3Url(folder, "--to"), null);
    }
    assert.throws(() => parseS3Url("ftp://x", "--to"), { message: /invalid address "ftp:/ });
  });

  it("needs credentials and takes the nearest endpoint", () => {
    assert.throws(() => readS3Settings({}), { message: /missing AWS_ACCESS_KEY_ID/ });
    const keys = { AWS_ACCESS_KEY_ID: "a", AWS_SECRET_ACCESS_KEY: "b" };
    const endpoints = { AWS_ENDPOINT_URL: "http://one", AWS_ENDPOINT_URL_S3: "http://two" };
    assert.equal(readS3Settings(keys).endpoint, "");
    assert.equal(readS3Settings(keys).region, "us-east-1");
    assert.equal(readS3Settings({ ...keys, AWS_DEFAULT_REGION: "eu-west-1" }).region, "eu-west-1");
    assert.equal(readS3Settings({ ...keys, ...endpoints }).endpoint, "http://two");
    assert.throws(() => readS3Settings({ ...keys, AWS_ENDPOINT_URL: "minio:9000" }), {
      message: /endpoint "minio:9000"/,
    });
  });
});
