import { afterEach, describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { WEB_URL } from "../connect.ts";
import { closeAll, notFound, over } from "./over.ts";

afterEach(closeAll);

const ID = "5f3a9c0e7b12d4a86f01c2e3";

const VERSION = { commit_oid: "c0ffee00", tree_oid: "", recorded_at: "2026-01-31T08:00:00Z" };

const EVIDENCE = {
  state: "flaky",
  environment: "Linux",
  runs: 226,
  failures: 7,
  rate: 0.031,
  rate_low: 0.013,
  rate_high: 0.059,
  segments: [{ runs: 226, failures: 7, rate: 0.031, from: VERSION, to: VERSION }],
  since: null,
  calm: { passes: 64, by_chance: 0.12, passes_needed: 118 },
  stopped: { last_run_at: "2026-01-31T08:00:00Z", job_runs: 20 },
  first_disruption: { ...VERSION, branch: "main", author: "ada", pull_request: 77 },
};

describe("get_test_evidence", () => {
  it("says how many passes prove that a commit repaired a test", async () => {
    const { api, call } = await over(() => Response.json(EVIDENCE));
    const { structuredContent } = await call("get_test_evidence", {
      test_id: ID,
      since: "c0ffee00",
      environment: "Linux",
    });
    const path = `/api/tests/${ID}/evidence?since=c0ffee00&environment=Linux`;
    assert.equal(api.received[0]?.url, path);
    assert.deepEqual(structuredContent, { web_url: `${WEB_URL}/tests/${ID}`, ...EVIDENCE });
  });

  it("passes on that a commit is several", async () => {
    const errors = { since: ["commit c0ffee0 is abbreviated and fits several: give its whole id"] };
    const { call } = await over(() => Response.json({ errors }, { status: 400 }));
    const { isError, content } = await call("get_test_evidence", { test_id: ID, since: "c0ffee0" });
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /fits several: give its whole id/);
  });

  it("says what may be unknown", async () => {
    const { call } = await over(notFound);
    const { isError, content } = await call("get_test_evidence", {
      test_id: ID,
      since: "c0ffee00",
    });
    assert.equal(isError, true);
    assert.match(JSON.stringify(content), /No run of the commit/);
  });
});
