import assert from "node:assert/strict";
import { describe, it } from "@std/testing/bdd";
import { readMentions, type Tables } from "./restriction.ts";

const TABLES: Tables = {
  column: "repository_id",
  distributed: new Set(["test", "submission", "quarantine"]),
  others: new Set(["repository", "archive"]),
};

/** Each statement with its mentions of distributed tables, such as `test bound`. */
const CASES: [statement: string, ...mentions: string[]][] = [
  ["select 1"],
  ["begin isolation level repeatable read read only"],
  ["select * from repository where name_key = $1"],
  // Equality with a parameter.
  ["select * from test where repository_id = $1", "test bound"],
  ["select * from test t where t.test_no = 3 and $1::bigint = t.repository_id", "test bound"],
  ["select * from test where repository_id = any($1::text::bigint[])", "test bound"],
  ["select * from test where (repository_id = $1 and test_no = $2)", "test bound"],
  ["delete from test t where repository_id = $1", "test bound"],
  ["update test set tags = '{}' where repository_id = $1 returning 1", "test bound"],
  ["update test t set tags = r.tags from f($1) as r where t.repository_id = $2", "test bound"],
  // What restricts nothing.
  ["select * from test", "test unrestricted"],
  ["select * from test where test_no = $1", "test unrestricted"],
  ["select * from test where repository_id > $1", "test unrestricted"],
  ["select * from test where repository_id <> $1", "test unrestricted"],
  ["select * from test where repository_id = $1 or test_no = $2", "test unrestricted"],
  ["select * from test where test_no = $1 -- repository_id = $2", "test unrestricted"],
  ["select * from test where name = 'repository_id = $1'", "test unrestricted"],
  ["select * from test where test_no = (select repository_id = $1)", "test unrestricted"],
  ["delete from test", "test unrestricted"],
  ["update test set repository_id = $1", "test unrestricted"],
  ["select (select count(*) from test) from f() where $1", "test unrestricted"],
  ["select * from test where repository_id = repository_id", "test unrestricted"],
  // Joins.
  [
    "select * from test t join submission s using (repository_id) where t.repository_id = $1",
    "test bound",
    "submission bound",
  ],
  [
    "select * from test t, submission s where t.repository_id = $1",
    "test bound",
    "submission unrestricted",
  ],
  [
    "select * from test t join submission s on s.test_no = t.test_no where t.repository_id = $1",
    "test bound",
    "submission unrestricted",
  ],
  [
    "select * from test t left join quarantine q on q.repository_id = t.repository_id and q.x = t.x " +
    "where t.repository_id = $1",
    "test bound",
    "quarantine bound",
  ],
  [
    "select * from repository r join test t on t.repository_id = r.repository_id where r.name = $1",
    "test joined",
  ],
  [
    "select * from repository r join test t using (repository_id) where r.repository_id = $1",
    "test bound",
  ],
  [
    "select (select 1 from test t where t.repository_id = r.repository_id) from repository r",
    "test joined",
  ],
  [
    "select (select 1 from test t where t.repository_id = r.repository_id) " +
    "from unnest($1::text::bigint[]) as r(repository_id)",
    "test bound",
  ],
  // Subqueries.
  [
    "select * from (select * from test where repository_id = $1) t join submission s " +
    "using (repository_id)",
    "test bound",
    "submission bound",
  ],
  [
    "select * from (select repository_id from test where repository_id = $1 " +
    "union all select repository_id from quarantine) t join submission s using (repository_id)",
    "test bound",
    "quarantine unrestricted",
    "submission unrestricted",
  ],
  [
    "delete from test t where repository_id = $1 and not exists (select from submission s " +
    "where s.repository_id = t.repository_id)",
    "test bound",
    "submission bound",
  ],
  [
    "delete from test t where repository_id = $1 and not exists (select from submission s " +
    "where s.test_no = t.test_no)",
    "test bound",
    "submission unrestricted",
  ],
  [
    "select * from test where (repository_id, x) in (select distinct repository_id, x " +
    "from submission where repository_id = any($1::text::bigint[]))",
    "test bound",
    "submission bound",
  ],
  [
    "select * from test where (repository_id, x) in (select x, repository_id " +
    "from submission where repository_id = $1)",
    "test unrestricted",
    "submission bound",
  ],
  [
    "with gone as (delete from repository where repository_id = $1 returning repository_id) " +
    "delete from test where repository_id in (select repository_id from gone)",
    "test bound",
  ],
  // Insertions.
  ["insert into test (repository_id, name) values ($1, $2)", "test bound"],
  ["insert into test (name, repository_id) values ($1, 7)", "test unrestricted"],
  ["insert into test (name) values ($1)", "test unrestricted"],
  [
    "insert into test (repository_id, name) select $1, name from f($2) on conflict do nothing",
    "test bound",
  ],
  [
    "insert into quarantine (repository_id) select repository_id from test " +
    "where repository_id = $1 on conflict (repository_id) do update set x = excluded.x",
    "quarantine bound",
    "test bound",
  ],
  [
    "insert into quarantine (repository_id) select t.repository_id from test t where t.name = $1",
    "quarantine unrestricted",
    "test unrestricted",
  ],
  [
    "with n as (update repository set x = x + 1 where repository_id = $1 returning x) " +
    "insert into test (repository_id, test_no) select $2, n.x from n " +
    "where not exists (select from submission s where s.repository_id = $3)",
    "test bound",
    "submission bound",
  ],
];

describe("the reading of which rows a statement can reach", () => {
  for (const [statement, ...expected] of CASES) {
    it(statement, () => {
      const found = readMentions(statement, TABLES)
        .map(({ table, restriction }) => `${table} ${restriction}`);
      assert.deepEqual(found, expected);
    });
  }

  it("refuses a statement in which it overlooks a table", () => {
    assert.throws(
      () => readMentions("merge into test using f() on repository_id = $1", TABLES),
      /1 mention of test was not understood/,
    );
  });
});
