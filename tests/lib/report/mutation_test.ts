/** All readers of reports, coverage and archives, with damaged files. */
import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { ReportError } from "../../../lib/report/report_error.ts";
import { SUBJECTS } from "./mutation/subjects.ts";
import { MutantError, tryMutants } from "./mutation/try_mutants.ts";

// As many as half a second allows; `deno task prove reports` tries as many as wanted.
const COUNTS: Record<string, number> = {
  "JUnit": 500,
  "TRX, NUnit, CTRF, go test": 350,
  "coverage": 350,
  "archive": 400,
  "archive's tar": 200,
};
const SEED = 1;

describe("a damaged file is read or clearly refused, the same at all chunk boundaries:", () => {
  for (const subject of SUBJECTS) {
    it(subject.name, async () => {
      const count = COUNTS[subject.name]!;
      const { readCount, refusedCount } = await tryMutants(subject, { count, seed: SEED });
      assert.equal(readCount + refusedCount, count);
      // Damage that always or never shows would prove nothing. A gzip has a checksum.
      assert.ok(refusedCount > count / 10, `${refusedCount} of ${count} were refused`);
      assert.ok(readCount > (subject.name === "archive" ? 0 : count / 100), `${readCount} read`);
    });
  }
});

describe("trying damaged files", () => {
  const fixtures = () => Promise.resolve([new TextEncoder().encode("<testsuite/>".repeat(9))]);
  const isNoticed = (message: RegExp) => (error: unknown) =>
    error instanceof MutantError && message.test(error.message);

  it("notices another error than a refusal", async () => {
    const read = () => Promise.reject(new TypeError("oh"));
    await assert.rejects(
      tryMutants({ name: "x", fixtures, read }, { count: 1, seed: 7 }),
      isNoticed(/^x: mutant of seed 7: TypeError: oh/),
    );
  });

  it("notices a refusal that does not name the file", async () => {
    const read = () =>
      Promise.reject(
        new ReportError({ file: "other", kind: "malformed", problem: "found a, expected b" }),
      );
    await assert.rejects(
      tryMutants({ name: "x", fixtures, read }, { count: 1, seed: 1 }),
      isNoticed(/the file is not named/),
    );
  });

  it("notices that something else is read with other chunk boundaries", async () => {
    const read = (_: Uint8Array, chunkBytes: number) => Promise.resolve(chunkBytes);
    await assert.rejects(
      tryMutants({ name: "x", fixtures, read }, { count: 1, seed: 1 }),
      isNoticed(/in one piece: .*65536.*, in small ones/),
    );
  });
});
