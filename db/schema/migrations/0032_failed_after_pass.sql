-- Whether a test passed in one attempt of the upload and failed in its last: it is disruptive, and its failure stands.
alter table submission add column failed_after_pass boolean not null default false;
create index submission_failed_after_pass on submission (repository_id, submission_id) where failed_after_pass;
