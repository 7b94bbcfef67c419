-- The submissions with failures on a branch, or in the merge queue for it.
create index submission_failed on submission (
  repository_id,
  (coalesce(nullif(queue_base, ''), substring(branch from '^gh-readonly-queue/(.+)/pr-[^/]+$'), branch)),
  submission_id
) where failed_test_count > 0;
