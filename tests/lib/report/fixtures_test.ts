/**
 * `fixtures/reports/SUBJECT/CASE/`: a report, and what is read from it. `deno task fix` writes each
 * `expected.json` again; the difference is what a change of the reader means.
 */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { type Expected, readExpected, readFixture, reportFixtures } from "./report_fixtures.ts";

describe("the report", () => {
  const fixtures = reportFixtures();
  for (const fixture of fixtures) {
    it(fixture.title, async () => {
      const expected = await readExpected(fixture);
      assert.deepEqual(await readFixture(fixture, 1 << 20), expected);
      for (const chunkBytes of [1, 7, 17]) {
        const { notes, error, ...read } = inLines(await readFixture(fixture, chunkBytes));
        const { notes: expectedNotes, error: expectedError, ...same } = inLines(expected);
        assert.deepEqual(read, same);
        assert.equal(error?.kind, expectedError?.kind);
        // Of a report that is refused, some have been found already.
        if (!error) assert.deepEqual(notes, expectedNotes);
      }
    });
  }

  it("is in more than 200 folders", () =>
    assert.ok(fixtures.length > 200, String(fixtures.length)));
});

/** Without columns, which boundaries of chunks move. */
function inLines({ notes, ...read }: Expected): Expected {
  return {
    ...read,
    ...notes && { notes: notes.map((note) => note.replace(/:(\d+):\d+:/, ":$1:")) },
  };
}
