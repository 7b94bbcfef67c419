import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, it } from "@std/testing/bdd";
import {
  FIXTURES,
  laboratoryTools,
  truthOf,
  verdictsOf,
} from "../../../tools/measure/laboratory/verdicts.ts";
import { recallOf, WAYS } from "../../../tools/measure/laboratory/recall.ts";
import { TOOLS } from "../../../tools/measure/laboratory/tools/mod.ts";

describe("the laboratory", () => {
  for (const tool of laboratoryTools()) {
    it(`judges the reports of ${tool} as in truth, but for what they hide`, async () => {
      const folder = new URL(`${tool}/`, FIXTURES);
      for (const [name, run] of Object.entries((await truthOf(tool)).runs)) {
        const verdicts = await verdictsOf(folder, run);
        for (const [planted, truth] of Object.entries(run.truth)) {
          const verdict = verdicts[planted];
          const where = `${tool} ${name}: ${planted}`;
          if (run.hidden?.[planted] === undefined) {
            assert.equal(verdict, truth, where);
          } else {
            assert.notEqual(verdict, truth, `${where} is not hidden: remove it from the truth`);
            assert.notEqual(verdict, "flaky", where);
          }
        }
      }
    });

    it(`finds no test of ${tool} flaky that is not, with the table of dialects switched off`, async () => {
      const folder = new URL(`${tool}/`, FIXTURES);
      for (const [name, run] of Object.entries((await truthOf(tool)).runs)) {
        const verdicts = await verdictsOf(folder, run, { dialects: [] });
        for (const [planted, truth] of Object.entries(run.truth)) {
          if (verdicts[planted] !== "flaky") continue;
          assert.equal(truth, "flaky", `${tool} ${name}: ${planted}`);
        }
      }
    });

    it(`has a truth for every report of ${tool}`, async () => {
      const folder = fileURLToPath(new URL(`${tool}/`, FIXTURES));
      const files = readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => relative(folder, join(parentPath, name)));
      const { made, runs } = await truthOf(tool);
      assert.deepEqual(
        Object.values(runs).flatMap((run) => run.files).sort(),
        files.filter((file) => file !== "truth.json").sort(),
      );
      assert.ok(tool in TOOLS || /by hand|^pytest|^Robot/.test(made), `${tool}: ${made}`);
    });
  }
});

describe("tests that are run again", () => {
  for (const way of WAYS) {
    it(`are found flaky by ${way.name}, and no others`, async () => {
      const { flakyCount, foundCount, falselyFlaky } = await recallOf(way);
      assert.deepEqual(falselyFlaky, []);
      assert.equal(foundCount, flakyCount);
      assert.deepEqual((await recallOf(way, { dialects: [] })).falselyFlaky, []);
    });
  }
});
