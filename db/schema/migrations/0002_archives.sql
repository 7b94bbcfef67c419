-- Tags that single tests of a list have, beside those of whole submissions: the owners of their
-- files. Stored once for all submissions that ran the list with the same. While the row is there,
-- the tests have these tags.
create table test_tag_set (
  repository_id bigint not null,
  test_tag_set_no integer not null,
  test_list_no integer not null,
  -- SHA-256 over tag_groups and members.
  digest bytea not null,
  -- JSON: an array of tags for each group of tests.
  tag_groups text not null,
  -- The group of each test of the list as varints: 0 for none, else 1 + its position.
  members bytea not null,
  primary key (repository_id, test_tag_set_no),
  unique (repository_id, test_list_no, digest)
);

alter table repository add column next_test_tag_set_no integer not null default 0;
alter table submission add column test_tag_set_no integer;

-- Archives that a watcher found in a folder or bucket, so that each is processed once. Whose they
-- are is known only once they were read, so they belong to no repository by themselves.
create table archive (
  -- The folder or bucket and prefix, as the watcher was given it.
  source text not null,
  -- Path below the folder, or key of the object.
  key text not null,
  -- Size and time of change, or entity tag: tells another upload of the same name.
  version text not null,
  status text not null check (status in ('processing', 'processed', 'failed')),
  -- Who processes it, and until when others keep away; both null when nobody does.
  claim_id uuid,
  claimed_until timestamptz,
  attempt_count integer not null default 0,
  -- Why it failed.
  reason text not null default '',
  -- The repository that shows it, once it is known.
  repository_id bigint,
  found_at timestamptz(0) not null,
  finished_at timestamptz(0),
  primary key (source, key)
);
create index archive_unfinished on archive (source, status) where status <> 'processed';
