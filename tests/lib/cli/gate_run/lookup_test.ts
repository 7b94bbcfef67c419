import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { LOOKUP_TIMEOUT_MS, startLookup } from "../../../../lib/cli/gate_run/lookup.ts";
import { FAKE_TOKEN, startFakeApi } from "../../api_client/fake_api.ts";

describe("the lookup of quarantined tests", () => {
  it("waits for 10 seconds at most, for a service that does not answer", async () => {
    assert.equal(LOOKUP_TIMEOUT_MS, 10_000);
    const late = Promise.withResolvers<Response>();
    const api = startFakeApi(() => late.promise);
    const checkout = {
      repository: { owner: "acme", name: "shop" },
      folder: "",
      run: {
        job: "",
        workflow: "",
        environment: "",
        shard: "",
        attempt: "",
        buildUrl: "",
        commit: "",
        tree: "",
        branch: "",
        queueBase: "",
        pullNumber: "",
      },
    };
    const environment = { PLATFORM_API_URL: api.url, PLATFORM_API_TOKEN: FAKE_TOKEN };
    const options = { environment, base: "main", run: {}, timeoutMs: 300 };
    const lookup = startLookup(Promise.resolve(checkout), options);
    try {
      const begun = performance.now();
      const found = await lookup.finish({
        exitCode: 1,
        failed: [],
        attempts: { counts: { ran: 0, skipped: 0, failed: 0 }, causeCounts: [], firstTest: null },
      });
      const tookMs = performance.now() - begun;
      assert.ok(tookMs > 200 && tookMs < 5_000, `${tookMs} ms`);
      assert.equal(found.quarantined, null);
      assert.equal(found.problem, "The service did not answer within 0.3 seconds.");
    } finally {
      lookup.close();
      late.resolve(new Response());
      await api.close();
    }
  });
});
