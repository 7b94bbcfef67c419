import { describe, it } from "@std/testing/bdd";
import assert from "node:assert/strict";
import { piece, send } from "../../../db/connection/pieces.ts";
import type { Queryable } from "../../../db/connection/sql.ts";

/** What would be sent: the texts between the values, and the values. */
function sent(statement: unknown): { strings: readonly string[]; values: unknown[] } {
  const sql = ((strings: readonly string[], ...values: unknown[]) => ({
    strings,
    values,
  })) as unknown as Queryable;
  return send(sql, statement) as unknown as ReturnType<typeof sent>;
}

const named = (name: string | null) => name === null ? piece`true` : piece`name = ${name}`;
const statement = (id: number, name: string | null) =>
  piece`select ${piece`1 as one`} from t where id = ${id} and ${named(name)}`;

describe("statements out of pieces", () => {
  it("are one text with values where no piece is", () => {
    const { strings, values } = sent(statement(7, "a"));
    assert.deepEqual([...strings], ["select 1 as one from t where id = ", " and name = ", ""]);
    assert.deepEqual(values, [7, "a"]);
    assert.deepEqual([...sent(piece`select 1`).strings], ["select 1"]);
    assert.deepEqual([...sent(piece`${1}${piece`${2}`}`).strings], ["", "", ""]);
  });

  it("are the same text object again for the same pieces, by which the library knows it", () => {
    assert.equal(sent(statement(1, "a")).strings, sent(statement(2, "b")).strings);
    assert.notEqual(sent(statement(1, null)).strings, sent(statement(1, "a")).strings);
    assert.ok(Array.isArray((sent(statement(1, "a")).strings as TemplateStringsArray).raw));
  });

  it("take everything else for a value", () => {
    const values = [null, undefined, new Date(0), [1], "piece", { strings: ["x"], values: [] }];
    for (const value of values) {
      assert.deepEqual(sent(piece`select ${value as string}`).values, [value]);
    }
  });
});
