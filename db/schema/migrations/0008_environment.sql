-- Where the tests of a submission ran (`Linux-X64`), the job of the CI service and which of its shards, as
-- the service names them; '' when unknown. With the environment, code_version is a code version: added
-- beside that column, because a new definition of it would write every row again.
alter table submission add column environment text not null default '';
alter table submission add column job text not null default '';
alter table submission add column shard text not null default '';
