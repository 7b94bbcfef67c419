import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import {
  coverageBadge,
  coverageColor,
  flakinessBadge,
  flakinessColor,
} from "../../../../lib/badge/badge.ts";
import { readBadge } from "../../../../lib/mcp/tools/repositories.ts";

describe("reading a badge", () => {
  it("returns the number and the colour of every badge", () => {
    for (let tenths = 0; tenths <= 1000; tenths++) {
      const flakiness = flakinessBadge({ disruptedBuildCount: tenths, buildCount: 1000 });
      assert.deepEqual(readBadge(flakiness.svg, flakinessColor), {
        percentage: tenths / 10,
        color: flakiness.color,
      });
      const coverage = coverageBadge({ coveredLineCount: tenths, lineCount: 1000 });
      assert.deepEqual(readBadge(coverage.svg, coverageColor), {
        percentage: tenths / 10,
        color: coverage.color,
      });
    }
  });

  it("returns null without data", () => {
    const unknown = { percentage: null, color: "unknown" };
    const { svg } = flakinessBadge({ disruptedBuildCount: 0, buildCount: 0 });
    assert.deepEqual(readBadge(svg, flakinessColor), unknown);
    assert.deepEqual(readBadge(coverageBadge(null).svg, coverageColor), unknown);
  });
});
