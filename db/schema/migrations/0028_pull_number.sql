-- The runs of a pull request, under whatever branch.
create index submission_pull on submission (repository_id, pull_number, submission_id)
  where pull_number is not null;
