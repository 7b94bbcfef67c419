import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { RunningChanges } from "../../../lib/base/running_changes.ts";

describe("running changes", () => {
  it("are at most four for an organization, whatever others do", () => {
    const changes = new RunningChanges();
    const [first] = Array.from({ length: 4 }, () => changes.begin(1));
    assert.equal(changes.begin(1), null);
    changes.begin(2)!.end();
    first!.end();
    assert.notEqual(changes.begin(1), null);
  });
});
