-- Spreads the data over several PostgreSQL servers with Citus, version 12 or later.
--
-- NOT READY TO USE: nobody has run it against Citus. The tables can be distributed by the rules that
-- Citus documents; some statements of the program it probably refuses after that: nearly every GET
-- (sub-selects that name a row of the coordinator) and every upload (WITH that changes a table of the
-- coordinator and a distributed one). docs/decisions/distribution.md lists them, and what each would
-- have to become.
--
-- Run it once, on the coordinator, in a database that this version of the program has migrated
-- (`test-analytics migrate`), before there is data or while nothing writes; the servers have been
-- added with citus_add_node. The program goes on talking to the
-- coordinator. docs/decisions/distribution.md tells why it is done so, and what stays to be paid.
--
--   psql "$DATABASE_URL" --single-transaction -v ON_ERROR_STOP=1 -f deploy/citus.sql
--
-- A table that a later version of the program adds needs a line of its own here; the tests of this
-- project fail until it has one.

create extension if not exists citus;

-- Distributed by repository_id: all that belongs to one repository lies on one server, and every
-- statement about it goes there and nowhere else. Every primary key and unique index begins with
-- that column, so a server can watch over uniqueness alone. No foreign key joins these tables:
-- what belongs to a repository is removed by the program, which holds the repository's row.

-- The first decides how many shards there are and where; the others lie beside it.
select create_distributed_table('test', 'repository_id', colocate_with => 'none');
select create_distributed_table('unpublished_test_range', 'repository_id', colocate_with => 'test');
select create_distributed_table('test_list', 'repository_id', colocate_with => 'test');
select create_distributed_table('test_tag_set', 'repository_id', colocate_with => 'test');
-- The bulk of the bytes. Its one generated column is made from columns of the same row.
select create_distributed_table('submission', 'repository_id', colocate_with => 'test');
select create_distributed_table('negative_result', 'repository_id', colocate_with => 'test');
select create_distributed_table('disruptive_test', 'repository_id', colocate_with => 'test');
select create_distributed_table('quarantine', 'repository_id', colocate_with => 'test');
-- The identity column is a bigint, which is what Citus asks for. It decides between reports of the
-- same second, so it has to be the coordinator that hands out its numbers: it does, because the
-- program talks to no other server.
select create_distributed_table('coverage_report', 'repository_id', colocate_with => 'test');

-- Not distributed: ordinary tables of the coordinator, for which nothing is run. Together they are
-- some hundred bytes for each repository, token and archive.

-- Who calls, and which repository is meant, is the first statement of every request: here it is
-- answered by the coordinator alone. Names, tokens and id_prefix are unique over all repositories,
-- which a table that is distributed by repository_id could not promise.
-- on the coordinator: organization
-- on the coordinator: api_token
-- Not a reference table: every upload locks and changes its repository's row, and Citus locks all
-- of a reference table for that, until the upload's transaction ends. The foreign keys of api_token
-- and repository to organization stay between tables of one server.
-- on the coordinator: repository
-- Archives that watchers found: whose they are is known only once they were read, so there is no
-- repository to distribute them by, and watchers look for any that is free.
-- on the coordinator: archive
-- Which migrations ran.
-- on the coordinator: schema_migration
