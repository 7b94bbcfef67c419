-- How many steps of data_version only added submissions, or changed what says nothing of tests. While
-- data_version - addition_count stays the same, what is known of the tests of a repository follows
-- from what was known before and from the submissions that came since. A change that does not count
-- itself here only has everything looked at anew.
-- Begins anywhere, so that a repository created anew under an old number has another.
alter table repository
  add column addition_count bigint not null default floor(random() * 1000000000);

-- The submissions that came since.
create index submission_data_version on submission (repository_id, data_version);
