/** `formats.ts`, with reports of real tools and of the rules of each format. */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "@std/testing/bdd";
import { readIn } from "./reading.ts";

const ROOT = new URL("../../../../fixtures/coverage/", import.meta.url);

interface Expected {
  format: string;
  coveredLineCount: number;
  lineCount: number;
  /** Whether lines without a number or a file are added up. */
  isSum?: boolean;
}

describe("coverage reports as tools write them", () => {
  for (const folder of readdirSync(ROOT, { withFileTypes: true })) {
    if (!folder.isDirectory()) continue;
    const url = new URL(`${folder.name}/`, ROOT);
    const expected: Record<string, Expected> = JSON.parse(
      readFileSync(new URL("expected.json", url), "utf8"),
    );
    const reports = readdirSync(url).filter((name) => name !== "expected.json");

    it(`expects something of every report in ${folder.name}`, () => {
      assert.deepEqual(reports.toSorted(), Object.keys(expected).toSorted());
    });
    for (const [name, { format, coveredLineCount, lineCount, isSum }] of Object.entries(expected)) {
      const bytes = () => new Uint8Array(readFileSync(new URL(name, url)));
      const outcome = `${coveredLineCount}/${lineCount}`;

      it(`reads ${folder.name}/${name}`, async () => {
        assert.equal(await readIn([bytes()]), outcome);
      });
      it(`reads ${folder.name}/${name} byte by byte`, async () => {
        assert.equal(await readIn([bytes()], { chunkBytes: 1 }), outcome);
      });
      if (isSum || format === "istanbul-summary") {
        it(`adds ${folder.name}/${name} to itself, as it has totals alone or names no file`, async () => {
          const covered = `${2 * coveredLineCount}/${2 * lineCount}`;
          assert.equal(await readIn([bytes(), bytes()]), covered);
        });
      } else if (name !== "handwritten.xml") {
        it(`takes ${folder.name}/${name} twice for the same lines`, async () => {
          assert.equal(await readIn([bytes(), bytes()]), outcome);
        });
      }
    }
  }
});
