// Tests: tests/db/read/runs_test.ts tests/db/read/tracked_tests_test.ts tests/db/write/evidence_test.ts
/**
 * Loads runs. No other file of db reads how submissions store their tests, exceptions and durations. The
 * format of the bytes is in `lib/analysis/columns.ts`, which writers encode with; what is decided about
 * runs is in `lib/analysis/`.
 */
import { bytesWithout, decodeTestList, durationAt } from "../../lib/analysis/columns.ts";
import {
  type Run,
  type RunColumns,
  RunDurations,
  type RunKey,
  RunResults,
  TestList,
} from "../../lib/analysis/run.ts";
import { firstSubmissionId, recordedAtOf } from "../../lib/base/identity.ts";
import { ALL_SUBMISSIONS, type SubmissionFilter } from "../../lib/query/submission_filter.ts";
import { arrayOf, type Fragment, idsIn, integersIn, type Queryable } from "../connection/sql.ts";
import { codeVersionOf, hasGaps, isFailedWithoutTest, isOneOf, isSelected } from "./fragments.ts";
import { integersOf } from "./packed_rows.ts";

type Column = keyof RunColumns;
type DecodedColumn = "tests" | "results" | "durations";

/** SQL: the columns of a run from the row `s` of `submission`. A new one is a line here and a field there. */
const COLUMNS: Record<Exclude<Column, DecodedColumn>, (sql: Queryable) => Fragment> = {
  commitOid: (sql) => sql`s.commit_oid`,
  treeOid: (sql) => sql`s.tree_oid`,
  branch: (sql) => sql`s.branch`,
  queueBase: (sql) => sql`s.queue_base`,
  pullNumber: (sql) => sql`s.pull_number::float8`,
  environment: (sql) => sql`s.environment`,
  job: (sql) => sql`s.job`,
  workflow: (sql) => sql`s.workflow`,
  shard: (sql) => sql`s.shard`,
  isOutage: (sql) => sql`s.is_outage`,
  buildUrl: (sql) => sql`s.build_url`,
  code: (sql) => sql`s.code_version`,
  codeVersion: (sql) => codeVersionOf(sql),
  attempt: (sql) => sql`s.attempt`,
  runner: (sql) => sql`s.runner`,
  resultCount: (sql) => sql`s.test_result_count`,
  ranTestCount: (sql) => sql`s.ran_test_count`,
  skippedTestCount: (sql) => sql`s.skipped_test_count`,
  failedTestCount: (sql) => sql`s.failed_test_count`,
  failedWithoutTest: (sql) => isFailedWithoutTest(sql),
  hasGaps: (sql) => hasGaps(sql),
};

/** What is stored of the tests of a run. */
interface StoredColumns {
  testListNo: number;
  exceptions: Uint8Array;
  durations: Uint8Array;
  /** Microseconds. */
  durationUnit: number;
  overheads: Uint8Array;
}

const STORED_COLUMNS: Record<keyof StoredColumns, (sql: Queryable) => Fragment> = {
  testListNo: (sql) => sql`s.test_list_no`,
  exceptions: (sql) => sql`s.exceptions`,
  durations: (sql) => sql`s.durations`,
  durationUnit: (sql) => sql`s.duration_unit`,
  overheads: (sql) => sql`s.overheads`,
};

const STORED_FOR: Record<DecodedColumn, (keyof StoredColumns)[]> = {
  tests: ["testListNo"],
  results: ["testListNo", "exceptions", "durationUnit"],
  durations: ["testListNo", "durations", "durationUnit", "overheads"],
};

type Row = Record<Exclude<Column, DecodedColumn>, never> & StoredColumns & {
  submissionId: string;
  repositoryId: number;
};

/** Lists by test_list_no. */
type TestLists = ReadonlyMap<number, TestList>;

/** Which runs to load. */
interface RunsQuery<Wanted extends Column> {
  repositoryId: number;
  /** Only these are read. */
  columns: readonly Wanted[];
  /** Seconds since 1970: runs recorded before are left out. */
  since?: number;
  /** Ids (24 hex digits) of all that may be loaded. */
  submissionIds?: readonly string[];
  filter?: SubmissionFilter;
  /** SQL: another condition on the row `s` of `submission`. */
  where?: Fragment;
  /** By default the newest run first. */
  order?: "newest first" | "oldest first";
  limit?: number;
  /** Lists that are loaded already; others are added. */
  lists?: Map<number, TestList>;
}

/** Runs of a repository. */
export async function loadRuns<Wanted extends Column>(
  sql: Queryable,
  { lists = new Map(), ...query }: RunsQuery<Wanted>,
): Promise<Run<Wanted>[]> {
  const rows = await selectRows(sql, query);
  await addTestLists(sql, { ...query, rows, lists });
  return runsOf(rows, query.columns, lists);
}

/** Loads the lists of rows that are not loaded yet. */
async function addTestLists(
  sql: Queryable,
  { repositoryId, rows, lists }: {
    repositoryId: number;
    rows: readonly Row[];
    lists: Map<number, TestList>;
  },
): Promise<void> {
  const testListNos = listNos(rows).difference(lists);
  for (const [no, list] of await loadTestLists(sql, { repositoryId, testListNos })) {
    lists.set(no, list);
  }
}

/**
 * Runs of several groups, each as {@linkcode loadRuns} loads it, in one statement: one of them and its lists take
 * half a millisecond on the embedded database, even without runs. `null` for a group without any.
 */
export async function loadRunGroups<
  Wanted extends Column,
  Name extends string,
  Flag extends string = never,
>(
  sql: Queryable,
  { repositoryId, columns, flags, groups, lists = new Map() }: {
    repositoryId: number;
    columns: readonly Wanted[];
    /** SQL: what else is to be known of the row `s` of `submission`, as true or false. */
    flags?: Record<Flag, Fragment>;
    groups: Record<Name, Pick<RunsQuery<Wanted>, "where" | "order" | "limit"> | null>;
    /** As the option of {@linkcode loadRuns}. */
    lists?: Map<number, TestList>;
  },
): Promise<Record<Name, (Run<Wanted> & Record<Flag, boolean>)[]>> {
  const names = Object.keys(groups) as Name[];
  let statement: Fragment | undefined;
  for (const [groupNo, name] of names.entries()) {
    const group = groups[name];
    if (!group) continue;
    const rows = selectRows(sql, { repositoryId, columns, flags, ...group });
    const select = sql`select ${groupNo}::int as "groupNo", r.* from (${rows}) r`;
    statement = statement ? sql`${statement} union all ${select}` : select;
  }
  const rows = statement
    ? await (statement as unknown as Promise<(Row & { groupNo: number })[]>)
    : [];
  await addTestLists(sql, { repositoryId, rows, lists });
  const flagNames = Object.keys(flags ?? {}) as Flag[];
  const byGroup = Map.groupBy(rows, ({ groupNo }) => groupNo);
  const found = {} as Record<Name, (Run<Wanted> & Record<Flag, boolean>)[]>;
  for (const [groupNo, name] of names.entries()) {
    const isOldestFirst = groups[name]?.order === "oldest first";
    // A server that reads the parts in parallel mixes them.
    const own = (byGroup.get(groupNo) ?? []).sort((a, b) =>
      (a.submissionId < b.submissionId) === isOldestFirst ? -1 : 1
    );
    found[name] = runsOf(own, [...columns, ...flagNames] as Wanted[], lists) as typeof found[Name];
  }
  return found;
}

/** Enough for most pages of a test, few enough to hold their exceptions in memory. */
const RUNS_PER_STATEMENT = 1_000;

/** Runs of a repository, newest first, for readers that stop early or do not keep them. */
export async function* eachRun<Wanted extends Column>(
  sql: Queryable,
  { lists = new Map(), ...query }: Omit<RunsQuery<Wanted>, "order" | "limit">,
): AsyncGenerator<Run<Wanted>, void> {
  let before: string | undefined;
  for (;;) {
    const rows = await selectRows(sql, { ...query, limit: RUNS_PER_STATEMENT, before });
    await addTestLists(sql, { ...query, rows, lists });
    yield* runsOf(rows, query.columns, lists);
    if (rows.length < RUNS_PER_STATEMENT) return;
    before = rows.at(-1)!.submissionId;
  }
}

/** With 20,000 tests about 40 kB each. */
const DURATIONS_PER_STATEMENT = 50;

/** Runs with their durations, in the given order: for a choice of the runs that are loaded without. */
export async function* withDurations<Given extends Run<"tests">>(
  sql: Queryable,
  { repositoryId, runs }: { repositoryId: number; runs: readonly Given[] },
): AsyncGenerator<Given & Run<"durations">, void> {
  for (let start = 0; start < runs.length; start += DURATIONS_PER_STATEMENT) {
    const batch = runs.slice(start, start + DURATIONS_PER_STATEMENT);
    const submissionIds = batch.map(({ submissionId }) => submissionId);
    const names = ["durations", "durationUnit", "overheads"] as const;
    const rows = await sql<Row[]>`
      select ${selected(sql, names)} from submission s
      where s.repository_id = ${repositoryId}
        and s.submission_id = any(${idsIn(sql, submissionIds)})`;
    const stored = new Map(rows.map((row) => [row.submissionId, row]));
    for (const run of batch) {
      const row = stored.get(run.submissionId);
      // Without a snapshot it may have been deleted since.
      if (row) yield { ...run, durations: new RunDurations(run.tests, row) };
    }
  }
}

/** Durations that one statement reads; one has 1 to 5 bytes. */
const MAX_DURATIONS = 4_000_000;

/**
 * How long one test took in some runs that have it, in microseconds by submission id. A few bytes are wanted of each
 * column, and their place is not known before it is read. Each other number has at least a byte: as many bytes at the
 * far end of the column as there are tests before or after this one are left out. The rest comes in Base64: two thirds
 * of the hexadecimal digits of `bytea`, 4 MB in 400 rows in 23 ms instead of 38.
 */
export async function loadTestDurations(
  sql: Queryable,
  { repositoryId, testNo, runs }: {
    repositoryId: number;
    testNo: number;
    runs: readonly Run<"tests">[];
  },
): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  const parts = runs.flatMap(({ submissionId, tests }) => {
    const testCount = tests.testNos.length;
    const index = tests.indexOf(testNo);
    return index < 0 ? [] : [{ submissionId, index, testCount, ...bytesWithout(index, testCount) }];
  });
  const partOf = new Map(parts.map((part) => [part.submissionId, part]));
  for (let start = 0, end = 0; start < parts.length; start = end) {
    for (let count = 0; end < parts.length && count < MAX_DURATIONS; end++) {
      count += parts[end]!.testCount;
    }
    const rows = await sql<
      (Pick<StoredColumns, "durationUnit"> & Pick<RunKey, "submissionId"> & { part: string })[]
    >`
      select p."submissionId", s.duration_unit as "durationUnit",
        encode(substring(s.durations from 1 + p."atStart"
          for greatest(0, octet_length(s.durations) - p."atStart" - p."atEnd")), 'base64') as part
      from json_to_recordset(${JSON.stringify(parts.slice(start, end))}::text::json)
        as p("submissionId" text, "atStart" int, "atEnd" int)
      cross join lateral (
        select durations, duration_unit from submission
        where repository_id = ${repositoryId} and submission_id = decode(p."submissionId", 'hex')
        offset 0
      ) s`;
    for (const { submissionId, part, durationUnit } of rows) {
      const { index, testCount } = partOf.get(submissionId)!;
      const columns = { durations: Uint8Array.fromBase64(part), durationUnit };
      found.set(submissionId, durationAt(columns, index, testCount));
    }
  }
  return found;
}

/** The runs of several repositories from a submission id on, in no particular order. */
export async function loadRunsByRepository<Wanted extends Column>(
  sql: Queryable,
  { repositoryIds, firstId, columns, where }: {
    /** Text of an array. */
    repositoryIds: string;
    firstId: string;
    columns: readonly Wanted[];
    where: Fragment;
  },
): Promise<Map<number, Run<Wanted>[]>> {
  const isWithin = sql`s.repository_id = any(${repositoryIds}::bigint[])
    and s.submission_id >= decode(${firstId}, 'hex') and s.status = 'processed'`;
  const [rows, lists] = await Promise.all([
    sql<Row[]>`
      select s.repository_id::float8 as "repositoryId", ${selected(sql, storedNames(columns))}
      from submission s where ${isWithin} and ${where}`,
    selectListsWithin(sql, repositoryIds, isWithin),
  ]);
  const listsOf = Map.groupBy(lists, ({ repositoryId }) => repositoryId);
  return new Map(
    Array.from(Map.groupBy(rows, ({ repositoryId }) => repositoryId), ([repositoryId, own]) => [
      repositoryId,
      runsOf(own, columns, decodeLists(listsOf.get(repositoryId) ?? [])),
    ]),
  );
}

/** A run with the tests of which a failure in it is a disruption; tests without a failure may be among them. */
export type DisruptedRun =
  & Run<"code" | "tests" | "results">
  & { disrupted: Pick<ReadonlySet<number>, "has"> };

/**
 * The runs with disruptions of several repositories from a submission id on, oldest first. Either all failures of a
 * test in a run are disruptions or none is, and most are: the others are read.
 *
 * @param options.isCounted SQL: which of the disruptions `n`; all unless given
 */
export async function loadDisruptedRuns(
  sql: Queryable,
  { repositoryIds, firstId, isCounted }: {
    repositoryIds: readonly number[];
    firstId: string;
    isCounted?: Fragment | undefined;
  },
): Promise<Map<number, DisruptedRun[]>> {
  const ids = arrayOf(repositoryIds);
  const isWithin = sql`s.repository_id = any(${ids}::bigint[])
    and s.submission_id >= decode(${firstId}, 'hex') and s.status = 'processed'
    and s.failed_test_count is distinct from 0`;
  const isOfRun = sql`n.repository_id = s.repository_id and n.submission_id = s.submission_id
    and ${isOneOf(sql, sql`n.repository_id`, repositoryIds)}`;
  const isDisruption = isCounted ? sql`n.is_disruption and ${isCounted}` : sql`n.is_disruption`;
  const testNosWhere = (condition: Fragment) =>
    sql`(select coalesce(string_agg(int4send(n.test_no), ''), '') from negative_result n
      where ${isOfRun} and ${condition})`;
  const columns = ["code", "tests", "results"] as const;
  const [rows, lists] = await Promise.all([
    sql<(Row & DisruptedColumn)[]>`
      select s.repository_id::float8 as "repositoryId", ${selected(sql, storedNames(columns))},
        ${
      isCounted
        ? sql`${testNosWhere(isDisruption)} as disrupted`
        : sql`${testNosWhere(sql`not n.is_disruption`)} as undisrupted`
    }
      from submission s
      where ${isWithin} and (
        select true from negative_result n where ${isOfRun} and ${isDisruption} limit 1)
      order by s.submission_id`,
    selectListsWithin(sql, ids, isWithin),
  ]);
  const listsOf = Map.groupBy(lists, ({ repositoryId }) => repositoryId);
  return new Map(
    Array.from(Map.groupBy(rows, ({ repositoryId }) => repositoryId), ([repositoryId, own]) => {
      const decoded = decodeLists(listsOf.get(repositoryId) ?? []);
      const runs = own.flatMap((row) =>
        runsOf([row], columns, decoded).map((run) => (
          { ...run, disrupted: disruptedTests(row) }
        ))
      );
      return [repositoryId, runs];
    }),
  );
}

/** The tests with disruptions that count, or those with other failures; a test_no of 4 bytes each. */
type DisruptedColumn = { disrupted: Uint8Array } | { undisrupted: Uint8Array };

function disruptedTests(row: DisruptedColumn) {
  if ("disrupted" in row) return new Set(integersOf(row.disrupted));
  const others = new Set(integersOf(row.undisrupted));
  return { has: (testNo: number) => !others.has(testNo) };
}

/** The lists of tests of submissions `s` of several repositories that meet a condition. */
function selectListsWithin(sql: Queryable, repositoryIds: string, isWithin: Fragment) {
  // The upper bound, below which all ids are, makes a planner that does not know the window expect few.
  return sql<(ListRow & { repositoryId: number })[]>`
    select l.repository_id::float8 as "repositoryId", ${listColumns(sql)}
    from test_list l
    where l.repository_id = any(${repositoryIds}::bigint[])
      and (l.repository_id, l.test_list_no) in (
        select distinct s.repository_id, s.test_list_no from submission s
        where ${isWithin} and s.submission_id < decode('ff', 'hex'))`;
}

/**
 * The latest runs of each of several repositories, the newest first; in ascending order of the repositories, until
 * there are `total`: then the last one may have more.
 */
export async function loadLatestRuns<Wanted extends Column>(
  sql: Queryable,
  { repositoryIds, columns, where, limit, total }: {
    repositoryIds: readonly number[];
    columns: readonly Wanted[];
    where: Fragment;
    /** Of each repository. */
    limit: number;
    /** Of all. */
    total: number;
  },
): Promise<Map<number, Run<Wanted>[]>> {
  const rows = await sql<Row[]>`
    select r.repository_id::float8 as "repositoryId", s.*
    from repository_state r
    cross join lateral (
      select ${selected(sql, storedNames(columns))}
      from submission s
      where s.repository_id = r.repository_id and s.status = 'processed' and ${where}
        and ${isOneOf(sql, sql`s.repository_id`, repositoryIds)}
      order by s.submission_id desc
      limit ${limit}
    ) s
    where r.repository_id = any(${arrayOf(repositoryIds)}::bigint[])
    order by r.repository_id
    limit ${total}`;
  const rowsOf = Map.groupBy(rows, ({ repositoryId }) => repositoryId);
  const listsOf = await loadListsOf(sql, rowsOf);
  return new Map(
    Array.from(rowsOf, ([repositoryId, own]) => [
      repositoryId,
      // A join may mix them.
      runsOf(own, columns, listsOf(repositoryId)).sort((a, b) =>
        a.submissionId < b.submissionId ? 1 : -1
      ),
    ]),
  );
}

/** The lists of tests of rows, by repository. */
async function loadListsOf(
  sql: Queryable,
  rowsOf: ReadonlyMap<number, readonly Row[]>,
): Promise<(repositoryId: number) => TestLists> {
  const keys = [...rowsOf].flatMap(([repositoryId, rows]) =>
    Array.from(listNos(rows), (testListNo) => ({ repositoryId, testListNo }))
  );
  if (keys.length === 0) return () => new Map();
  const lists = await sql<(ListRow & { repositoryId: number })[]>`
    select l.repository_id::float8 as "repositoryId", ${listColumns(sql)}
    from test_list l
    where l.repository_id = any(${arrayOf(rowsOf.keys())}::bigint[])
      and (l.repository_id, l.test_list_no) in (
        select * from unnest(${arrayOf(keys.map(({ repositoryId }) => repositoryId))}::bigint[],
          ${arrayOf(keys.map(({ testListNo }) => testListNo))}::int[]))`;
  const byRepository = Map.groupBy(lists, ({ repositoryId }) => repositoryId);
  return (repositoryId) => decodeLists(byRepository.get(repositoryId) ?? []);
}

interface ListRow {
  testListNo: number;
  testCount: number;
  tests: Uint8Array;
}

/** SQL: the columns of a {@linkcode ListRow} from `test_list` l. */
function listColumns(sql: Queryable) {
  return sql`l.test_list_no as "testListNo", l.test_count as "testCount", l.tests`;
}

function decodeLists(rows: readonly ListRow[]): Map<number, TestList> {
  return new Map(
    rows.map(({ testListNo, testCount, tests }) => [
      testListNo,
      new TestList(decodeTestList(tests, testCount)),
    ]),
  );
}

async function loadTestLists(
  sql: Queryable,
  { repositoryId, testListNos }: { repositoryId: number; testListNos: ReadonlySet<number> },
): Promise<Map<number, TestList>> {
  if (testListNos.size === 0) return new Map();
  return decodeLists(
    await sql<ListRow[]>`
      select ${listColumns(sql)} from test_list l
      where l.repository_id = ${repositoryId}
        and l.test_list_no = any(${integersIn(sql, testListNos)})`,
  );
}

/** The tests (test_no) of one list, in ascending order of test_hash. */
export async function loadTestList(
  sql: Queryable,
  { repositoryId, testListNo }: { repositoryId: number; testListNo: number },
): Promise<Int32Array> {
  const lists = await loadTestLists(sql, { repositoryId, testListNos: new Set([testListNo]) });
  return lists.get(testListNo)!.testNos;
}

/** The lists from a number on, in ascending order of their numbers. */
export async function loadTestListsFrom(
  sql: Queryable,
  { repositoryId, from, limit }: { repositoryId: number; from: number; limit: number },
): Promise<Map<number, TestList>> {
  return decodeLists(
    await sql<ListRow[]>`
      select ${listColumns(sql)} from test_list l
      where l.repository_id = ${repositoryId} and l.test_list_no >= ${from}
      order by l.test_list_no
      limit ${limit}`,
  );
}

function selectRows<Wanted extends Column>(
  sql: Queryable,
  { repositoryId, columns, since, submissionIds, filter = ALL_SUBMISSIONS, where, ...options }:
    & RunsQuery<Wanted>
    & { before?: string | undefined; flags?: Record<string, Fragment> | undefined },
) {
  const { order = "newest first", limit, before, flags = {} } = options;
  let list = selected(sql, storedNames(columns));
  for (const [name, flag] of Object.entries(flags)) list = sql`${list}, ${flag} as ${sql(name)}`;
  return sql<Row[]>`
    select ${list}
    from submission s
    where s.repository_id = ${repositoryId} and s.status = 'processed'
      ${
    since === undefined
      ? sql``
      : sql`and s.submission_id >= decode(${firstSubmissionId(since)}, 'hex')`
  }
      ${submissionIds ? sql`and s.submission_id = any(${idsIn(sql, submissionIds)})` : sql``}
      and ${isSelected(sql, filter)} ${where ? sql`and ${where}` : sql``}
      ${before === undefined ? sql`` : sql`and s.submission_id < decode(${before}, 'hex')`}
    order by s.submission_id ${order === "newest first" ? sql`desc` : sql``}
    ${limit === undefined ? sql`` : sql`limit ${limit}`}`;
}

function storedNames(columns: readonly Column[]): Set<keyof typeof ALL_COLUMNS> {
  return new Set(
    columns.flatMap((column) => isDecoded(column) ? STORED_FOR[column] : [column]),
  );
}

const ALL_COLUMNS = { ...COLUMNS, ...STORED_COLUMNS };

function isDecoded(column: Column): column is DecodedColumn {
  return column in STORED_FOR;
}

/** SQL: the id and some columns of the row `s` of `submission`. */
function selected(sql: Queryable, names: Iterable<keyof typeof ALL_COLUMNS>): Fragment {
  let list = sql`encode(s.submission_id, 'hex') as "submissionId"`;
  for (const name of names) list = sql`${list}, ${ALL_COLUMNS[name](sql)} as ${sql(name)}`;
  return list;
}

function listNos(rows: readonly Row[]): Set<number> {
  return new Set(rows.map(({ testListNo }) => testListNo).filter((no) => no !== undefined));
}

/** The runs of rows. Without a snapshot a list may have been deleted since, and its runs with it. */
function runsOf<Wanted extends Column>(
  rows: readonly Row[],
  columns: readonly Wanted[],
  lists: TestLists,
): Run<Wanted>[] {
  return rows.flatMap((row) => {
    const { submissionId, testListNo } = row;
    const run: RunKey & Partial<RunColumns> = {
      submissionId,
      recordedAt: recordedAtOf(submissionId),
    };
    const tests = lists.get(testListNo);
    if (testListNo !== undefined && !tests) return [];
    for (const column of columns as readonly Column[]) {
      if (column === "tests") run.tests = tests!;
      else if (column === "results") run.results = new RunResults(tests!, row);
      else if (column === "durations") run.durations = new RunDurations(tests!, row);
      else run[column] = row[column];
    }
    return [run as Run<Wanted>];
  });
}
