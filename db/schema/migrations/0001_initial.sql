-- Who may ask. A reference table of a distributed database: small, and read on every request.
create table organization (
  organization_id integer generated always as identity primary key,
  name text not null,
  -- The name in lower case (Unicode's, made by the program): names are unique regardless of case.
  name_key text not null unique,
  -- Legacy tokens are valid only while this is above 0.
  purchase_unit_count integer not null default 0 check (purchase_unit_count >= 0),
  created_at timestamptz(0) not null
);

-- Tokens, of which only a hash is kept.
create table api_token (
  organization_id integer not null references organization,
  api_token_id integer generated always as identity,
  -- 'api_token': hash is the hex SHA-256 of the token; 'legacy': base64 of its SHA-256.
  type text not null check (type in ('api_token', 'legacy')),
  token_prefix text,
  hash text not null unique,
  label text,
  created_at timestamptz(0) not null,
  expires_at timestamptz(0),
  revoked_at timestamptz(0),
  primary key (organization_id, api_token_id)
);

create table repository (
  organization_id integer not null references organization,
  repository_id bigint not null unique check (repository_id between 1 and 9007199254740991),
  owner text not null,
  name text not null,
  owner_key text not null,
  name_key text not null,
  -- First 11 hex digits (44 bits) of the id of every test of this repository. Made from the names
  -- that the repository was created under, so that a rename keeps the ids.
  id_prefix bigint not null unique,
  -- Grows by one with every change of what an answer about this repository could contain.
  data_version bigint not null default 0,
  -- False until the first upload is stored: an upload that was cut off leaves nothing to be seen.
  is_visible boolean not null default true,
  -- Grows by one when tests may have been removed: what was looked up before must be looked up again.
  -- Begins anywhere, so that a repository created anew under an old number has another.
  removal_count bigint not null default floor(random() * 1000000000),
  next_test_no integer not null default 0,
  next_test_list_no integer not null default 0,
  created_at timestamptz(0) not null,
  primary key (organization_id, repository_id),
  unique (organization_id, owner_key, name_key)
);

create sequence repository_id_sequence as bigint;

-- The identities of tests. A test is the same test in every submission that ran it.
create table test (
  repository_id bigint not null,
  -- Dense, in order of first appearance: what rows and lists of this repository refer to.
  test_no integer not null,
  -- Last 13 hex digits (52 bits) of the id of the test.
  test_hash bigint not null,
  suite text not null,
  class text not null,
  name text not null,
  file text not null,
  -- Union of the tags of all submissions that ran the test, in no order.
  tags text[] not null default '{}',
  primary key (repository_id, test_no),
  unique (repository_id, test_hash)
);

-- Numbers of tests that were stored ahead of a submission which is not stored yet, from first_test_no
-- up to but not including end_test_no. Such tests are unknown to everybody else.
create table staged_test_range (
  repository_id bigint not null,
  first_test_no integer not null,
  end_test_no integer not null,
  primary key (repository_id, first_test_no)
);

-- What a submission ran, stored once for all submissions that ran the same tests.
create table test_list (
  repository_id bigint not null,
  test_list_no integer not null,
  -- SHA-256 over the ascending test_hash of its tests.
  list_hash bytea not null,
  test_count integer not null,
  -- The test_no of its tests, in ascending order of test_hash: differences as zigzag varints.
  tests bytea not null,
  -- Tags that every test of the list has.
  tags text[] not null default '{}',
  primary key (repository_id, test_list_no),
  unique (repository_id, list_hash)
);

-- One upload of results. Results are stored here by column; a negative one is also a row of
-- negative_result.
create table submission (
  repository_id bigint not null,
  -- 4 bytes of seconds (recorded_at), 8 bytes of what was uploaded: ids sort like recorded_at.
  submission_id bytea not null check (length(submission_id) = 12),
  recorded_at timestamptz(0) not null,
  uploaded_at timestamptz(0) not null,
  status text not null check (status in ('processing', 'processed', 'failed')),
  -- Key of the uploaded archive in its object storage, or owner/name/submission id.
  key text not null,
  build_url text not null default '',
  commit_oid text not null,
  tree_oid text,
  branch text,
  -- Results of one code version are results of the same code.
  code_version text not null generated always as (coalesce('tree:' || tree_oid, 'commit:' || commit_oid)) stored,
  tags text[] not null default '{}',
  -- SHA-256 over commit, build URL and report bytes; null without a build URL.
  upload_digest bytea,
  test_result_count integer not null default 0,
  test_list_no integer,
  -- Total time of each test of the list, in its order, as varints in units of duration_unit.
  durations bytea,
  -- Microseconds in one unit of durations.
  duration_unit integer,
  -- The tests of the list that did not simply pass once: see lib/analysis/columns.ts.
  exceptions bytea,
  -- data_version of the repository that this submission brought about.
  data_version bigint not null,
  primary key (repository_id, submission_id),
  unique (repository_id, key),
  unique (repository_id, upload_digest)
);
create index submission_code_version on submission (repository_id, code_version);
-- Compressing varints of random durations costs time and saves nothing.
alter table submission alter column durations set storage external;

-- Failures and errors: few, and what every answer shows. Order in time is (submission_id, result_no).
create table negative_result (
  repository_id bigint not null,
  submission_id bytea not null,
  -- Position of the result in its submission.
  result_no integer not null,
  test_no integer not null,
  -- Set once the test is known to be nondeterministic at the submission's code version.
  is_disruption boolean not null,
  conclusion text not null check (conclusion in ('failure', 'error')),
  message text not null,
  primary key (repository_id, submission_id, result_no)
);
-- The latest disruptions of a test.
create index negative_result_disruption on negative_result (repository_id, test_no, submission_id, result_no)
  where is_disruption;
-- How many disruptions each test has in the window, from the index alone.
create index negative_result_window on negative_result (repository_id, submission_id, test_no)
  where is_disruption;

-- One row per test that was ever disruptive: its first disruption, its latest, and its latest
-- positive result at a code version where it is nondeterministic. What they show is copied here, so
-- that it outlives the submissions it came from.
create table disruptive_test (
  repository_id bigint not null,
  test_no integer not null,
  first_disruption_at timestamptz(0) not null,
  latest_submission_id bytea not null,
  latest_result_no integer not null,
  latest_commit_oid text not null,
  latest_build_url text not null,
  latest_message text not null,
  positive_submission_id bytea not null,
  positive_build_url text not null,
  primary key (repository_id, test_no)
);

create table quarantine (
  repository_id bigint not null,
  test_no integer not null,
  quarantined_at timestamptz(0) not null,
  quarantined_by text,
  quarantine_type text not null check (quarantine_type in ('manual', 'automatic')),
  primary key (repository_id, test_no)
);

-- Only totals are kept of a coverage report, and only of reports with a line that can be covered.
create table coverage_report (
  repository_id bigint not null,
  -- Of reports with the same recorded_at the one with the greater id was uploaded later.
  coverage_report_id bigint generated always as identity,
  recorded_at timestamptz(0) not null,
  -- The submission it came with, if any.
  submission_id bytea,
  covered_line_count bigint not null check (covered_line_count >= 0),
  line_count bigint not null check (line_count > 0 and covered_line_count <= line_count),
  primary key (repository_id, coverage_report_id)
);
create index coverage_report_latest on coverage_report (repository_id, recorded_at, coverage_report_id);
