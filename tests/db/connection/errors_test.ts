import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { isDenied, isReadOnly, isSystemFault, isTransient } from "../../../db/connection/errors.ts";
import { DatabaseError } from "../../../db/database_error.ts";

const withCode = (code: string) => Object.assign(new Error(code), { code });

describe("an error of the database", () => {
  for (
    const [code, transient, outage] of [
      ["ECONNREFUSED", true, true],
      ["CONNECTION_CLOSED", true, true],
      ["CONNECTION_DESTROYED", true, true],
      ["57P03", true, true],
      ["53300", true, true],
      // Disk full, insufficient privilege, a file that cannot be read.
      ["53100", false, true],
      ["42501", false, true],
      ["EACCES", false, true],
      // The data is refused: invalid text, unique key, limit.
      ["22021", false, false],
      ["23505", false, false],
      ["54000", false, false],
      ["", false, false],
    ] as const
  ) {
    it(`with the code "${code}" is ${transient ? "" : "not "}transient`, () => {
      assert.equal(isTransient(withCode(code)), transient);
      assert.equal(isTransient(new DatabaseError("no", { cause: withCode(code) })), transient);
      assert.equal(isSystemFault(withCode(code)), outage);
    });
  }

  it("says who refuses to write", () => {
    assert.ok(isReadOnly(withCode("25006")) && !isReadOnly(withCode("42501")));
    assert.ok(isDenied(withCode("42501")) && !isDenied(withCode("25006")));
  });
});
