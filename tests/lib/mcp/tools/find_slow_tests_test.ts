import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import examples from "../../../../tools/documentation/examples.json" with { type: "json" };
import { over } from "./over.ts";

describe("find_slow_tests", () => {
  it("lists what the API lists", async () => {
    const { api, call } = await over(() => Response.json(examples.listSlowTests));
    const { structuredContent } = await call("find_slow_tests", {
      owner: "group/sub",
      name: "web",
      sort: "slower",
      branch: "main",
      limit: 1,
    });
    assert.equal(
      api.received[0]?.url,
      "/api/repos/group%2Fsub/web/slow-tests?sort=slower&branch=main&limit=1",
    );
    const { p90_us: _p90, runs: _runs, ...test } = examples.listSlowTests.tests[0]!;
    assert.deepEqual(structuredContent, {
      count: 1284,
      tests: [test],
      next_cursor: "b2Zmc2V0OjE=",
      web_url: "https://flaky.example/repos/group%2Fsub/web/slow-tests?sort=slower&branch=main",
    });
  });
});
