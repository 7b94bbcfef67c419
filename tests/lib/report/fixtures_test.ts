/**
 * `fixtures/reports/TOOL/CASE/`: a report, and what is read from it. `deno task fix` writes each
 * `expected.json` again; the difference is what a change of the reader means.
 */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readExpected, readFixture, reportFixtures } from "./report_fixtures.ts";

describe("the report", () => {
  const fixtures = reportFixtures();
  for (const { title, folder, file } of fixtures) {
    it(`${title}`, async () => {
      const expected = await readExpected(folder);
      // Boundaries of chunks make no difference.
      for (const chunkBytes of [65_536, 7]) {
        assert.deepEqual(await readFixture(folder + file, chunkBytes), expected);
      }
    });
  }

  it("is in each folder once", () => assert.ok(fixtures.length > 30, String(fixtures.length)));
});
