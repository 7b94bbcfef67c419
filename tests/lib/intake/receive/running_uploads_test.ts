import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { RunningChanges } from "../../../../lib/intake/receive/running_uploads.ts";

describe("running changes of quarantine", () => {
  it("are at most four for an organization, whatever others do", () => {
    const changes = new RunningChanges();
    const [first] = Array.from({ length: 4 }, () => changes.begin(1));
    assert.throws(() => changes.begin(1), {
      name: "UploadQuotaError",
      message: "4 changes of quarantine of this organization are running: repeat this one later",
    });
    changes.begin(2).end();
    first!.end();
    changes.begin(1);
  });
});
