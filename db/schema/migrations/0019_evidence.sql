-- What each failed test of a submission rested on when it was uploaded, and whether later runs showed that it
-- was the change.
create table failure_evidence (
  repository_id bigint not null,
  submission_id bytea not null,
  test_no integer not null,
  evidence text not null,
  is_on_base boolean not null,
  -- The submission that the evidence rests on; it may be deleted.
  rests_on bytea,
  base_run_count integer not null,
  base_failed_count integer not null,
  -- The share that was known; null without one.
  share_not_the_change integer,
  share_of integer,
  share_from text check (share_from in ('repository', 'organization', 'published')),
  -- Whether the test failed before at this code version.
  is_repeat boolean not null,
  truth text check (truth in ('not_the_change', 'the_change')),
  primary key (repository_id, submission_id, test_no)
);

-- Whether its failures are an outage, which other branches had too.
alter table submission add column is_outage boolean not null default false;
update submission set is_outage = true
where ran_test_count >= 20 and failed_test_count * 100 > ran_test_count * 20;

-- How the command that ran the tests ended; null when unknown.
alter table submission add column exit_code integer;

-- The latest runs of a branch.
create index submission_branch on submission (repository_id, branch, submission_id);

-- Set by a person; null: found in the builds.
alter table repository add column base_branch text;
