-- A test without a file that reports name with one, or the other way round: the last 52 bits of the id
-- that it would have there. No two tests of a repository have the same.
alter table test add column alias_hash bigint;
create unique index test_alias on test (repository_id, alias_hash) where alias_hash is not null;
-- Finds tests with a file by suite, class and name, which are too long for an index.
create index test_name on test
  (repository_id, hashtextextended(suite || E'\x1f' || class || E'\x1f' || name, 0))
  where file <> '';
