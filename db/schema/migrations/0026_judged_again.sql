-- The version of the rules of repetition that the disruptions of a repository were found by. What earlier
-- versions of the program stored is judged again, once; what is new already is.
alter table repository_state add column rules integer not null default 0;
alter table repository_state alter column rules set default 1;

-- Pages are linked by the build URL of a CI run before its uploads are processed. The hash, because an
-- index takes no text of 2,700 bytes and more.
create index submission_build on submission (repository_id, md5(build_url)) where build_url <> '';
