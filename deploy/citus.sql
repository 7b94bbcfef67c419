-- Distributes the data over several PostgreSQL servers with Citus, version 12 or later.
--
-- NOT READY TO USE: it has not been run against Citus yet.
-- Citus will probably reject some statements: correlated sub-selects on a coordinator table (most GET
-- requests), and WITH clauses that modify a coordinator table and a distributed one (every upload).
-- docs/decisions/distribution.md lists them with a possible replacement for each.
--
-- Run it once on the coordinator, after citus_add_node and `test-analytics migrate`, while nothing
-- writes. The program keeps connecting to the coordinator.
--
--   psql "$DATABASE_URL" --single-transaction -v ON_ERROR_STOP=1 -f deploy/citus.sql
--
-- Every table needs a line here; a test checks this.

create extension if not exists citus;

-- Distributed by repository_id: a repository's rows are on one server, and so is every statement about
-- it. Primary keys and unique indexes begin with that column. There are no foreign keys between these
-- tables: the program deletes dependent rows while it holds the lock of the repository's row.

-- The first table determines the shards; the others are colocated.
select create_distributed_table('repository_state', 'repository_id', colocate_with => 'none');
select create_distributed_table('test', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('unpublished_test_range', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('test_list', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('test_tag', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('test_tag_set', 'repository_id', colocate_with => 'repository_state');
-- Most of the data. Its generated column only uses columns of the same row.
select create_distributed_table('submission', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('negative_result', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('failure_text', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('disruptive_test', 'repository_id', colocate_with => 'repository_state');
select create_distributed_table('quarantine', 'repository_id', colocate_with => 'repository_state');
-- The identity column is a bigint, as Citus requires. It orders reports of the same second; its values
-- come from the coordinator, the only server that the program connects to.
select create_distributed_table('coverage_report', 'repository_id', colocate_with => 'repository_state');

-- Not distributed: local tables of the coordinator, with some hundred bytes per repository, token and
-- archive.

-- Every request begins with a look-up of caller and repository, which these tables answer. Names,
-- tokens and id_prefix are unique across repositories, which a distributed table cannot enforce.
-- on the coordinator: organization
-- on the coordinator: api_token
-- on the coordinator: change
-- Not reference tables: a change of one needs every server, so that a token could not be revoked while
-- one is down.
-- on the coordinator: repository
-- Archives found by watchers. Their repository is unknown until they are read.
-- on the coordinator: archive
-- Applied migrations.
-- on the coordinator: schema_migration
