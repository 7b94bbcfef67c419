-- A read-only role for `test-analytics serve`.
--
-- Run it in the program's database as the user who runs `test-analytics migrate`, so that the default
-- privileges cover tables created later. It can be repeated. Set a password in psql with
-- `\password test_analytics_reader`.
--
--   psql "$DATABASE_URL" -f deploy/read_only_role.sql

do $$
begin
  if not exists (select from pg_roles where rolname = 'test_analytics_reader') then
    create role test_analytics_reader login;
  end if;
  execute format('grant connect on database %I to test_analytics_reader', current_database());
end
$$;

-- The grants below restrict the role. These defaults prevent mistakes and runaway statements.
alter role test_analytics_reader set default_transaction_read_only = on;
alter role test_analytics_reader set statement_timeout = '10s';
alter role test_analytics_reader set idle_in_transaction_session_timeout = '60s';

grant usage on schema public to test_analytics_reader;
grant select on all tables in schema public to test_analytics_reader;
alter default privileges in schema public grant select on tables to test_analytics_reader;
