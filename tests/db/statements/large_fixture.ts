/** A database in which every table is large enough for an index, and most of it is old. */
import type { Database } from "../../../db/connection/connect.ts";
import { type ContractFixture, createContractFixture } from "../../routes/contract_fixture.ts";
import { DAY, NOW } from "../../routes/fixture.ts";

/** Rows that one repository has of what grows with its history. */
export const OLD_ROWS = 3_000;

/** Other organizations, and how many of them have 10 repositories each. */
const OTHERS = 5_000;
const ACTIVE_OTHERS = 300;

/** Rows of everything that each of their repositories has. */
const ROWS_OF_OTHERS = 15;

/** A list of some 500 tests. */
const LIST_BYTES = 1_000;

/**
 * The contract's organization, its repository acme/shop with a long history before the window, and
 * many other organizations.
 */
export async function createLargeFixture(database: Database): Promise<ContractFixture> {
  const contract = await createContractFixture(database);
  const { sql } = database;
  await sql`
    with organizations as (
      insert into organization (name, name_key, created_at)
      select 'org-' || n, 'org-' || n, now() from generate_series(1, ${OTHERS}::int) n
      returning organization_id
    ), active as (
      select organization_id from organizations order by organization_id limit ${ACTIVE_OTHERS}::int
    ), tokens as (
      insert into api_token (organization_id, type, hash, created_at)
      select organization_id, 'api_token', md5(organization_id || '-' || n), now()
      from active, generate_series(1, 10) n
    )
    insert into repository
      (organization_id, repository_id, repository_number, owner, name, owner_key, name_key, id_prefix,
        created_at)
    select organization_id, 100000 + row_number() over (), 100000 + row_number() over (), 'o', 'r' || n, 'o', 'r' || n,
      100000 + row_number() over (), now()
    from active, generate_series(1, 10) n`;
  await sql`
    insert into repository_state (repository_id, id_prefix, data_version)
    select repository_id, id_prefix, 1 from repository where repository_id > 100000`;
  // Which repository gets how many rows of what: shop's are old, the others' spread over a year.
  await sql`
    create temporary table share as
    select repository_id, ${ROWS_OF_OTHERS}::int as row_count, ${NOW}::int - 365 * ${DAY}::int as first,
      ${NOW}::int as last
    from repository where repository_id > 100000
    union all
    select ${contract.repositoryId}, ${OLD_ROWS}::int, ${NOW}::int - 365 * ${DAY}::int,
      ${NOW}::int - 15 * ${DAY}::int`;
  await sql`
    create temporary table old_row as
    select repository_id, 10000 + n as no, to_timestamp(first + (last - first)::bigint * n / row_count) as at,
      decode(lpad(to_hex(first + (last - first)::bigint * n / row_count), 8, '0')
        || substr(md5(repository_id || '-' || n), 1, 16), 'hex') as submission_id
    from share, generate_series(1, row_count) n`;
  await sql`
    insert into test (repository_id, test_no, test_hash, suite, class, name, file)
    select repository_id, no, no, 'checkout.' || no % 40 || '.Suite' || no % 100,
      'com.example.shop.checkout.Suite' || no % 100 || 'Test',
      'handles case ' || no || ' of the order when the customer changes the address',
      'src/test/java/com/example/shop/checkout/Suite' || no % 100 || 'Test.java'
    from old_row`;
  await sql`
    insert into test_list (repository_id, test_list_no, list_hash, test_count, tests)
    select repository_id, no, submission_id, 1,
      decode(repeat('00', ${LIST_BYTES}::int), 'hex')
    from old_row`;
  await sql`
    insert into submission (repository_id, submission_id, recorded_at, uploaded_at, status, key,
      commit_oid, test_list_no, duration_unit, durations, exceptions, data_version)
    select repository_id, submission_id, at, at, 'processed', 'k' || no, 'c' || no, no, 1, '\\x00',
      '\\x', 1
    from old_row`;
  await sql`
    insert into negative_result (repository_id, submission_id, result_no, test_no, is_disruption,
      conclusion, text_id, fingerprint)
    select repository_id, submission_id, n, 10000 + (no * 7 + n) % 300, n < 4, 'failure',
      decode(substr(md5(no::text), 1, 20), 'hex'), decode(substr(md5(no::text), 1, 16), 'hex')
    from old_row, generate_series(1, 5) n`;
  await sql`
    insert into failure_text (repository_id, text_id, message, body)
    select repository_id, decode(substr(md5(no::text), 1, 20), 'hex'), 'no', ''
    from old_row`;
  // Shop's tests were disruptive long ago; this is what it shows of them in the window.
  await sql`
    insert into disruptive_test (repository_id, test_no, first_disruption_at, latest_submission_id,
      latest_result_no, latest_commit_oid, latest_build_url, latest_message,
      positive_submission_id, positive_build_url)
    select repository_id, no, at, submission_id, 1, 'c', '', 'no', submission_id, '' from old_row`;
  await sql`
    insert into quarantine (repository_id, test_no, quarantined_at, quarantine_type)
    select repository_id, no, at, 'manual' from old_row
    where repository_id > 100000 and repository_id % 10 = 0 and no = 10001`;
  await sql`
    insert into coverage_report (repository_id, recorded_at, covered_line_count, line_count)
    select repository_id, at, 1, 2 from old_row`;
  await sql`analyze`;
  return contract;
}
