import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { RecentMap } from "../../../lib/base/recent_map.ts";

describe("a map of what was set last", () => {
  it("drops what was set longest ago", () => {
    const map = new RecentMap<string, number>(2);
    map.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
    assert.deepEqual([...map], [["a", 3], ["c", 4]]);
  });
});
