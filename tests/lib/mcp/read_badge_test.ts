import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { coverageBadge, flakinessBadge } from "../../../lib/badge/mod.ts";
import { readBadge } from "../../../lib/mcp/read_badge.ts";

describe("reading a badge", () => {
  it("gives the number and the colour of every badge that there is", () => {
    for (let tenths = 0; tenths <= 1000; tenths++) {
      const flakiness = flakinessBadge({ disruptedBuildCount: tenths, buildCount: 1000 });
      assert.deepEqual(readBadge(flakiness.svg, "flakiness", "here"), {
        percentage: tenths / 10,
        color: flakiness.color,
      });
      const coverage = coverageBadge({ coveredLineCount: tenths, lineCount: 1000 });
      assert.deepEqual(readBadge(coverage.svg, "coverage", "here"), {
        percentage: tenths / 10,
        color: coverage.color,
      });
    }
  });

  it("gives no number where there is no data", () => {
    const unknown = { percentage: null, color: "unknown" };
    const flakiness = flakinessBadge({ disruptedBuildCount: 0, buildCount: 0 }).svg;
    assert.deepEqual(readBadge(flakiness, "flakiness", "here"), unknown);
    assert.deepEqual(readBadge(coverageBadge(null).svg, "coverage", "here"), unknown);
  });

  it("does not take another page for a badge", () => {
    assert.throws(
      () => readBadge("<html><p>100%</p></html>", "coverage", "http://other"),
      { name: "ToolError", message: /http:\/\/other.*PLATFORM_API_URL/ },
    );
  });
});
