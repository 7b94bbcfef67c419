import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import {
  acceptedFormat,
  acceptsGzip,
  createResponder,
} from "../../../../lib/http/request/responses.ts";
import type { Endpoint } from "../../../../lib/http/request/route.ts";

describe("an entity tag", () => {
  const route = { response: { status: 200, mediaType: "text/html" } } as Endpoint;
  const key = {
    path: "/",
    parameters: {},
    windowSeconds: 1,
    page: null,
    now: null,
    organizationId: 1,
    organizationName: "acme",
    repositories: [],
  };

  /** The status and the tag of a request to a program of this build. */
  async function ask(buildId: string, held = '"none"'): Promise<[number, string | null]> {
    const request = new Request("http://localhost/", { headers: { "if-none-match": held } });
    const { created } = createResponder(1_000, buildId);
    const response = await created(
      request,
      { route, requestId: "1", key },
      { body: "page" },
    );
    return [response.status, response.headers.get("etag")];
  }

  it("is known to the same build, and new in another one of the same version", async () => {
    const [, tag] = await ask("build 1");
    assert.deepEqual(await ask("build 1", tag!), [304, tag]);
    const [status, next] = await ask("build 2", tag!);
    assert.equal(status, 200);
    assert.notEqual(next, tag);
  });
});

describe("Accept-Encoding", () => {
  it("accepts gzip", () => {
    const accepting = [
      "*",
      "gzip",
      "GZIP",
      "deflate, gzip",
      "br;q=1.0, gzip;q=0.8, *;q=0.1",
      "gzip ; q=1",
    ];
    for (const header of accepting) assert.equal(acceptsGzip(header), true, header);
  });

  it("does not accept gzip", () => {
    const refusing = [null, "", "identity", "br", "gzip;q=0", "gzip;q=0.0"];
    for (const header of [...refusing, "*, gzip;q=0", "gzip; q=0.000, br"]) {
      assert.equal(acceptsGzip(header), false, String(header));
    }
  });
});

describe("the format of a list that a client accepts", () => {
  it("is the one of the highest quality, of equal ones the first", () => {
    const formats = [
      ["text/csv", "csv"],
      ["application/x-ndjson;q=0.5, text/csv;q=0.6", "csv"],
      ["application/json, text/csv", null],
      ["text/csv, application/json", "csv"],
      ["text/csv ; header=present ; q=1", "csv"],
      ["application/jsonl", "ndjson"],
      ["constructor, __proto__", null],
      [null, null],
    ] as const;
    for (const [accept, format] of formats) {
      assert.equal(acceptedFormat(accept), format, accept ?? "");
    }
  });
});
