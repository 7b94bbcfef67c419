import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { acceptsGzip } from "../../../../lib/http/request/responses.ts";

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
