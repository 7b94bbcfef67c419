-- A role for `test-analytics serve`: it can read everything of this program and write nothing.
--
-- Run it in the program's database, as the user who ran `test-analytics migrate`: what later
-- versions of the program create becomes readable for the role by itself. Running it again does no
-- harm. A password is not set here; `\password test_analytics_reader` in psql does.
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

-- The grants below are what it may do; these only make mistakes harder and runaways shorter.
alter role test_analytics_reader set default_transaction_read_only = on;
alter role test_analytics_reader set statement_timeout = '10s';
alter role test_analytics_reader set idle_in_transaction_session_timeout = '60s';

grant usage on schema public to test_analytics_reader;
grant select on all tables in schema public to test_analytics_reader;
alter default privileges in schema public grant select on tables to test_analytics_reader;
