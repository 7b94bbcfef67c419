// Tests: tests/db/write/store_submission_test.ts
import type { TestFacts } from "../../lib/analysis/disruptions.ts";
import {
  groupOf,
  groupsOf,
  isSetUp,
  mayMoveToShard,
} from "../../lib/analysis/repetition/set_up.ts";
import type { TestIdentity } from "../../lib/base/identity.ts";
import { integersIn, type Queryable, textsIn } from "../connection/sql.ts";

/** The facts about failed tests that the rules of repetition need. */
export async function loadTestFacts(
  sql: Queryable,
  { repositoryId, testNos }: { repositoryId: number; testNos: ReadonlySet<number> },
): Promise<TestFacts> {
  type Row = TestIdentity & { testNo: number };
  const rows = await sql<Row[]>`
    select test_no as "testNo", suite, class, name, file from test
    where repository_id = ${repositoryId} and test_no = any(${integersIn(sql, testNos)})`;
  const withFile = new Set(rows.filter(mayMoveToShard).map(({ testNo }) => testNo));
  const setUps = rows.filter(isSetUp);
  const groups = new Map<string, { tests: number[]; setUps: number[] }>();
  const groupOfTest = new Map<number, string>();
  for (const row of setUps) {
    const group = groupOf(row);
    groups.set(group, { tests: [], setUps: [] });
    groupOfTest.set(row.testNo, group);
  }
  const named = (kind: string) =>
    textsIn(
      sql,
      [...groups.keys()].filter((group) => group.startsWith(`${kind} `))
        .map((group) => group.slice(kind.length + 1)),
    );
  const classes = named("class");
  // Only pytest runs the set-up of a module for the modules in it, and the condition takes as long as all others.
  const modules = setUps.some(({ suite }) => suite === "pytest")
    ? sql`or suite = 'pytest' and exists (
        select from unnest(${classes}) as module where starts_with(class, module || '.'))`
    : sql``;
  const members = groups.size === 0 ? [] : await sql<Row[]>`
    select test_no as "testNo", suite, class, name, file from test
    where repository_id = ${repositoryId} and (file = any(${named("file")})
      or class = any(${classes}) or suite = any(${named("suite")}) ${modules}
      or test_no = any(${integersIn(sql, groupOfTest.keys())}))`;
  for (const row of members) {
    if (isSetUp(row)) groups.get(groupOf(row))?.setUps.push(row.testNo);
    else for (const group of groupsOf(row)) groups.get(group)?.tests.push(row.testNo);
  }
  return {
    hasFile: (testNo) => withFile.has(testNo),
    setUpOf: (testNo) => groups.get(groupOfTest.get(testNo) ?? ""),
  };
}

/** The groups of the set-ups among some tests by test_no: most repositories have none. */
export async function loadSetUps(
  sql: Queryable,
  { repositoryId, tests }: { repositoryId: number; tests: ReadonlyMap<number, TestIdentity> },
): Promise<TestFacts["setUpOf"]> {
  const testNos = new Set([...tests].filter(([, test]) => isSetUp(test)).map(([testNo]) => testNo));
  if (testNos.size === 0) return () => undefined;
  return (await loadTestFacts(sql, { repositoryId, testNos })).setUpOf;
}
