-- A role for `test-analytics receive`: it looks upload tokens up, and sees nothing else.
--
-- Run it in the program's database as the user who runs `test-analytics migrate`, or as a superuser,
-- after the tables exist. A user without CREATEROLE needs the role to exist: an administrator runs
-- `create role test_analytics_receiver login` first. It can be repeated. Set a password in psql with
-- `\password test_analytics_receiver`.
--
--   psql "$DATABASE_URL" -f deploy/upload_role.sql
\set ON_ERROR_STOP on

begin;

do $$
begin
  if not exists (select from pg_roles where rolname = 'test_analytics_receiver') then
    create role test_analytics_receiver login;
  end if;
  -- Only what PUBLIC may not do already: a user who does not own the database cannot grant this.
  if not has_database_privilege('test_analytics_receiver', current_database(), 'connect') then
    execute format('grant connect on database %I to test_analytics_receiver', current_database());
  end if;
  if not has_schema_privilege('test_analytics_receiver', current_schema(), 'usage') then
    execute format('grant usage on schema %I to test_analytics_receiver', current_schema());
  end if;
end
$$;

-- The version of the schema, tokens (of which only hashes are stored) and their organizations.
grant select on schema_migration, api_token to test_analytics_receiver;
grant select (organization_id, name) on organization to test_analytics_receiver;
-- The hour of the last use, for `token list`.
grant update (last_used_at) on api_token to test_analytics_receiver;

commit;
