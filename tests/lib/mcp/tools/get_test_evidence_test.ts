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
  failing_runs: { job: "stress", runs: 10 },
  rate_low: 0.013,
  rate_high: 0.059,
  segments: [{ runs: 226, failures: 7, rate: 0.031, from: VERSION, to: VERSION }],
  since: null,
  calm: { passes: 64, by_chance: 0.12, passes_needed: 118 },
  not_run_since: ["Windows"],
  passes_elsewhere: 60,
  stopped: { last_run_at: "2026-01-31T08:00:00Z", job_runs: 20 },
  first_disruption: { ...VERSION, branch: "main", author: "ada", pull_request: 77 },
};

describe("get_test_evidence", () => {
  it("says how many passes prove that a commit repaired a test", async () => {
    const { api, call } = await over(() => Response.json(EVIDENCE));
    const { data: { next_step: _, ...data } } = await call("get_test_evidence", {
      test_id: ID,
      since: "c0ffee00",
      environment: "Linux",
    });
    const path = `/api/tests/${ID}/evidence?since=c0ffee00&environment=Linux`;
    assert.equal(api.received[0]?.url, path);
    assert.deepEqual(data, { web_url: `${WEB_URL}/tests/${ID}`, ...EVIDENCE });
  });

  it("says that a repair is proved only if nothing is left to prove", async () => {
    const calm = { passes: 60, by_chance: 0.01, passes_needed: 13 };
    const proved = { ...EVIDENCE, failing_runs: null, calm, not_run_since: [], stopped: null };
    const nextStep = async (more: object, since: string | undefined = "c0ffee00") => {
      const { call } = await over(() => Response.json({ ...proved, ...more }));
      const { data } = await call("get_test_evidence", { test_id: ID, ...since && { since } });
      return data.next_step;
    };
    const enough = "60 passes since c0ffee0 in Linux, 13 needed: repaired.";
    assert.equal(await nextStep({}), enough);
    assert.equal(await nextStep({ environment: "" }), enough.replace(" in Linux", ""));
    assert.equal(
      await nextStep({ calm: { ...calm, passes: 4 } }),
      "Not proved: 4 passes since c0ffee0 in Linux, 13 needed. Run it again.",
    );
    assert.equal(
      await nextStep({ not_run_since: ["Windows", ""] }),
      "60 passes since c0ffee0 in Linux, 13 needed: enough there. Not run since c0ffee0 in Windows, " +
        "runs without an environment: run it there, unless that is no longer used.",
    );
    assert.equal(
      await nextStep({ calm: { ...calm, passes: 4 }, not_run_since: ["Windows"] }),
      "Not proved: 4 passes since c0ffee0 in Linux, 13 needed. Run it again. Not run since c0ffee0 in " +
        "Windows: run it there, unless that is no longer used.",
    );
    assert.equal(
      await nextStep({ calm: { ...calm, by_chance: null }, not_run_since: ["Windows"] }),
      "Not repaired: it failed again since c0ffee0 in Linux.",
    );
    assert.equal(
      await nextStep({ segments: [{ ...EVIDENCE.segments[0], failures: 0, rate: 0 }] }),
      "60 passes since c0ffee0 in Linux, and no failure before: nothing to repair.",
    );
    assert.equal(await nextStep({ runs: 0 }), "The test has no run on the base branch in Linux.");
    assert.equal(await nextStep({}, ""), "After a repair, ask again with its commit as since.");
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
    const narrowed = await call("get_test_evidence", {
      test_id: ID,
      since: "c0ffee00",
      environment: "Plan9",
    });
    assert.match(narrowed.text, /No run of the commit "c0ffee00" on the base branch in "Plan9" is/);
  });
});
