-- How many tests of a submission passed or failed at least once, how many were only skipped, and how many
-- failed at least once. Null for submissions that were stored before: they are compared with no later run
-- and are no outage.
alter table submission add column ran_test_count integer;
alter table submission add column skipped_test_count integer;
alter table submission add column failed_test_count integer;
-- The latest submissions of a job.
create index submission_job on submission (repository_id, job, environment, shard, submission_id)
  where job <> '';
