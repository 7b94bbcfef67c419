/**
 * The S3-compatible server as a program: keeps its objects in the folder given, prints its port.
 *
 * s3rver (npm) stores and answers. It does not check signatures of version 4, so that is done in
 * front of it, by Amazon's own signer.
 */
import crypto from "node:crypto";
// @ts-types="./s3rver.d.ts"
import S3rver from "s3rver";
import { verifySignature } from "./verify_signature.ts";

// It hides the place in a list by DES, which no TLS library has any more: this does as well.
const identity = () => ({
  update: (data: string | Uint8Array) => Buffer.from(data),
  final: () => Buffer.of(),
});
Object.assign(crypto, { createCipheriv: identity, createDecipheriv: identity });

const CREDENTIALS = { key: "S3RVER", secret: "S3RVER", region: "us-east-1" };

const [directory = "", ...buckets] = Deno.args;
const server = new S3rver({
  address: "127.0.0.1",
  port: 0,
  silent: true,
  directory,
  configureBuckets: buckets.map((name) => ({ name, configs: [] })),
});
const { port } = await server.run();

const front = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => {} },
  async (request) => {
    const body = new Uint8Array(await request.arrayBuffer());
    const wrong = await verifySignature(request, { ...CREDENTIALS, body });
    if (wrong !== "") {
      return new Response(`<Error><Code>${wrong}</Code><Message>refused</Message></Error>`, {
        status: 403,
      });
    }
    const { pathname, search } = new URL(request.url);
    return await fetch(`http://127.0.0.1:${port}${pathname}${search}`, {
      method: request.method,
      headers: request.headers,
      body: body.length > 0 ? body : null,
    });
  },
);
await Deno.stdout.write(new TextEncoder().encode(`${front.addr.port}\n`));
