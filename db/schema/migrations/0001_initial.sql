-- Every table about a repository has repository_id first in its primary key and in its unique
-- indexes, so that tables can be distributed by it. Columns *_no count within a repository.

create table organization (
  organization_id integer generated always as identity primary key,
  name text not null,
  -- The name in Unicode's lower case, made by the program: names are unique regardless of case.
  name_key text not null unique,
  -- Legacy tokens are valid only while this is above 0.
  purchase_unit_count integer not null default 0 check (purchase_unit_count >= 0),
  next_repository_number bigint not null default 1,
  -- The policy of all repositories without their own (lib/analysis/quarantine_policy.ts); null: off.
  quarantine_policy jsonb,
  created_at timestamptz(0) not null
);

-- Tokens. Only a hash of each is stored.
create table api_token (
  organization_id integer not null references organization,
  api_token_id integer generated always as identity,
  -- 'api_token' and 'legacy' read the organization, 'upload' uploads to it, 'badge' opens the badges
  -- of one repository. hash is the hex SHA-256 of the token; 'legacy': base64 of its SHA-256.
  type text not null check (type in ('api_token', 'legacy', 'upload', 'badge')),
  -- Of a badge token.
  repository_id bigint check ((repository_id is not null) = (type = 'badge')),
  token_prefix text,
  hash text not null unique,
  label text,
  created_at timestamptz(0) not null,
  expires_at timestamptz(0),
  revoked_at timestamptz(0),
  -- The hour of the last request. Written by `serve` where it may write, at most once an hour.
  last_used_at timestamptz(0),
  primary key (organization_id, api_token_id)
);

-- Changes made by the command line. Rows are only added.
create table change (
  organization_id integer not null references organization,
  change_id bigint generated always as identity,
  changed_at timestamptz(0) not null,
  -- User and host, or the CI job.
  author text not null,
  -- Such as 'repo delete', and the name or id of what it changed.
  command text not null,
  subject text not null,
  detail jsonb not null,
  primary key (organization_id, change_id)
);
create index change_subject on change (organization_id, subject);

create sequence repository_id_sequence as bigint;

create table repository (
  organization_id integer not null references organization,
  -- Internal: it would tell how many repositories other organizations have.
  repository_id bigint not null unique default nextval('repository_id_sequence'),
  -- The repository_id of the API and the command line. Null until the first upload is stored: until
  -- then the repository is hidden, so that an interrupted upload uses up no number.
  repository_number bigint check (repository_number between 1 and 9007199254740991),
  owner text not null,
  name text not null,
  owner_key text not null,
  name_key text not null,
  -- Page of the repository, as CI told it last; '' when it did not.
  url text not null default '',
  -- First 11 hex digits (44 bits) of the id of every test. Made from the names at creation, so that
  -- renaming the repository keeps the ids.
  id_prefix bigint not null unique,
  -- Null: that of the organization. The JSON value null: off.
  quarantine_policy jsonb,
  created_at timestamptz(0) not null,
  primary key (organization_id, repository_id),
  unique (organization_id, repository_number),
  unique (organization_id, owner_key, name_key)
);

-- What uploads change of a repository. A table of its own, so that on Citus it is on the server of the
-- repository's data: version and data become visible together, and the lock of its row is there.
create table repository_state (
  repository_id bigint primary key,
  -- Copied: it never changes.
  id_prefix bigint not null,
  -- Whether the repository has a number: becomes visible together with the first upload.
  is_visible boolean not null default false,
  -- Incremented with every change that an answer about this repository could show. Begins with the
  -- microseconds since 1970: above all versions of a deleted repository that had the same number, so
  -- that nothing cached for that one fits this one.
  data_version bigint not null,
  -- How many increments of data_version only added submissions, or changed nothing about tests.
  -- While data_version - addition_count is the same, cached tests can be updated from the
  -- submissions added since, and test numbers looked up before are valid; otherwise they are
  -- loaded again.
  addition_count bigint not null default 0,
  next_test_no integer not null default 0,
  next_test_list_no integer not null default 0
);

-- Test identities.
create table test (
  repository_id bigint not null,
  -- Dense, in order of first appearance.
  test_no integer not null,
  -- Last 13 hex digits (52 bits) of the id of the test.
  test_hash bigint not null,
  suite text not null,
  class text not null,
  name text not null,
  file text not null,
  primary key (repository_id, test_no),
  unique (repository_id, test_hash)
);

-- The tags of tests, by tag: adding one takes a single row, however many tests have it and however many
-- other tags they have.
create table test_tag (
  repository_id bigint not null,
  tag text not null,
  -- test_no of all tests that ran in a submission with this tag.
  tests int4multirange not null,
  primary key (repository_id, tag)
);

-- Tests of an upload are stored in batches before the transaction that stores its submission. Until
-- that transaction deletes their ranges (first <= test_no < end), they are not published.
create table unpublished_test_range (
  repository_id bigint not null,
  first_test_no integer not null,
  end_test_no integer not null,
  primary key (repository_id, first_test_no)
);

-- The tests that a submission ran, stored once for all submissions that ran the same tests.
create table test_list (
  repository_id bigint not null,
  test_list_no integer not null,
  -- SHA-256 of the test_hash of its tests in ascending order.
  list_hash bytea not null,
  test_count integer not null,
  -- test_no in ascending order of test_hash: differences as zigzag varints.
  tests bytea not null,
  primary key (repository_id, test_list_no),
  unique (list_hash, repository_id)
);

-- Tags of single tests, in addition to those of whole submissions: the owners of their files. Stored
-- once for all submissions that have the same.
create table test_tag_set (
  repository_id bigint not null,
  -- First 16 bytes of the SHA-256 of tag_groups.
  digest bytea not null,
  -- JSON: an array of objects, each with tags and the tests that have them, as ranges of test_no.
  tag_groups text not null,
  primary key (repository_id, digest)
);

-- One upload of results. Results are stored by column; negative ones are also rows of
-- negative_result. Uploads that are not processed (yet) have no results.
create table submission (
  repository_id bigint not null,
  -- 4 bytes of seconds (recorded_at), 8 bytes of a hash of the upload: ids sort like recorded_at.
  submission_id bytea not null check (length(submission_id) = 12),
  recorded_at timestamptz(0) not null,
  uploaded_at timestamptz(0) not null,
  status text not null check (status in ('processing', 'processed', 'failed')),
  -- Key of the archive in its folder or bucket, else owner/name/submission id.
  key text not null,
  build_url text not null default '',
  commit_oid text not null,
  tree_oid text,
  branch text,
  -- Submissions with the same value ran the same code. A commit that is not 7 to 64 hex digits
  -- (HEAD, main, null) identifies nothing. lib/analysis/disruptions.ts computes the same.
  code_version text not null generated always as (case
    when tree_oid is not null then 'tree:' || tree_oid
    when commit_oid ~ '^[0-9A-Fa-f]{7,64}$' then 'commit:' || commit_oid
    else 'submission:' || encode(submission_id, 'hex')
  end) stored,
  tags text[] not null default '{}',
  -- First 16 bytes of the SHA-256 of commit, build URL and report bytes: the same upload again is a
  -- duplicate. Null until it is processed.
  upload_digest bytea check (length(upload_digest) = 16),
  test_result_count integer not null default 0,
  test_list_no integer,
  test_tag_digest bytea,
  -- Total duration of each test of the list, as varints in units of duration_unit microseconds.
  durations bytea,
  duration_unit integer,
  -- The tests of the list that did not simply pass once: see lib/analysis/columns.ts.
  exceptions bytea,
  -- The repository's data_version after this submission was added.
  data_version bigint not null,
  primary key (repository_id, submission_id),
  unique (repository_id, key),
  unique (repository_id, upload_digest)
);
create index submission_code_version on submission (repository_id, code_version);
create index submission_data_version on submission (repository_id, data_version);
-- Varints of durations do not compress; trying costs time.
alter table submission alter column durations set storage external;

-- Failures and errors. Their order in time is (submission_id, result_no).
create table negative_result (
  repository_id bigint not null,
  submission_id bytea not null,
  -- Position of the result in its submission.
  result_no integer not null,
  test_no integer not null,
  -- Whether the test is nondeterministic at the submission's code version.
  is_disruption boolean not null,
  conclusion text not null check (conclusion in ('failure', 'error')),
  text_id bytea not null,
  -- That of its text. Causes are counted from these rows alone.
  fingerprint bytea not null,
  -- Also counts the disruptions of each test in the window, from the index alone.
  primary key (repository_id, submission_id, is_disruption, test_no, result_no)
);
-- Failures of a test by week (2^19 s, the first 13 bits of the id): equal keys share one index entry, a
-- seventh of an index on the whole id.
create index negative_result_test on negative_result (repository_id, test_no, is_disruption,
  (get_byte(submission_id, 0) * 32 + get_byte(submission_id, 1) / 8));

-- Messages and bodies of failures, each pair once. lib/analysis/failure_texts.ts compresses bodies. Deleted
-- when no failure refers to them any more.
create table failure_text (
  repository_id bigint not null,
  -- First 10 bytes of the SHA-256 of message and body.
  text_id bytea not null,
  message text not null,
  body bytea not null,
  primary key (repository_id, text_id)
);
-- Bodies are compressed already.
alter table failure_text alter column body set storage external;

-- Tests that were ever disruptive: the first disruption, the latest, and the latest positive result at
-- a code version where the test is nondeterministic. Values are copied, so that they outlive the
-- submissions they came from.
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

-- The latest quarantine entry of each test. One that has ended stays until the test is quarantined
-- again: its end changes no row.
create table quarantine (
  repository_id bigint not null,
  test_no integer not null,
  quarantined_at timestamptz(0) not null,
  quarantined_by text,
  quarantine_type text not null check (quarantine_type in ('manual', 'automatic')),
  quarantine_reason text,
  quarantine_owner text,
  -- The first second at which the test is not quarantined any more; null for an entry without an end.
  quarantine_expires_at timestamptz(0),
  primary key (repository_id, test_no)
);
-- The next end of an entry: the first statement of every request reads it.
create index quarantine_end on quarantine (repository_id, quarantine_expires_at)
  where quarantine_expires_at is not null;

-- Totals of coverage reports that have at least one line that can be covered.
create table coverage_report (
  repository_id bigint not null,
  -- Ascending in the order of upload: the greatest is the latest report.
  coverage_report_id bigint generated always as identity,
  recorded_at timestamptz(0) not null,
  -- The submission it came with; null when it came alone.
  submission_id bytea,
  covered_line_count bigint not null check (covered_line_count >= 0),
  line_count bigint not null check (line_count > 0 and covered_line_count <= line_count),
  primary key (repository_id, coverage_report_id),
  unique (repository_id, submission_id)
);

-- Archives that `watch` found in a folder or bucket, so that each is processed once. Their repository
-- is known only after they were read.
create table archive (
  -- The folder, or bucket and prefix.
  source text not null,
  -- Path below the folder, or key of the object.
  key text not null,
  -- Size and modification time, or entity tag: differs when the file was replaced.
  version text not null,
  status text not null check (status in ('processing', 'processed', 'failed')),
  -- The claim of the process that works on it; both are null when it is free.
  claim_id uuid,
  claimed_until timestamptz,
  attempt_count integer not null default 0,
  -- Why it failed.
  reason text not null default '',
  repository_id bigint,
  found_at timestamptz(0) not null,
  finished_at timestamptz(0),
  primary key (source, key)
);
create index archive_unfinished on archive (source, status) where status <> 'processed';

-- The first statement of a request names a repository by a row of `repository`. On Citus that table and
-- those of the data are on different servers: there these functions send a statement of their own with
-- the id as a value (distribute.ts), so that a request still takes one round trip. On one server they
-- become part of the plan of the statement.

create function repository_version(
  repository_id bigint, first_submission_id bytea, moment timestamptz)
returns table (
  data_version bigint, oldest_submission_id bytea, next_quarantine_end timestamptz)
language sql stable as $$
  select v.data_version, (
    select s.submission_id from submission s
    where s.repository_id = $1 and s.submission_id >= $2
    order by s.submission_id limit 1), (
    select min(q.quarantine_expires_at) from quarantine q
    where q.repository_id = $1 and q.quarantine_expires_at > $3)
  from repository_state v
  where v.repository_id = $1 and v.is_visible
$$;

create function published_test(repository_id bigint, test_hash bigint)
returns table (test_no integer)
language sql stable as $$
  select t.test_no from test t
  where t.repository_id = $1 and t.test_hash = $2
    and not exists (
      select 1 from unpublished_test_range u
      where u.repository_id = $1 and t.test_no >= u.first_test_no and t.test_no < u.end_test_no)
$$;

create function stored_submission(repository_id bigint, submission_id bytea)
returns table (key text)
language sql stable as $$
  select s.key from submission s
  where s.repository_id = $1 and s.submission_id = $2
$$;
