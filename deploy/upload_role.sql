-- A role for `test-analytics receive`: it calls functions that look up and record the use of a token
-- whose hash it has, look up what is trusted of an issuer of identity tokens, and with the hash of a
-- quarantine token change the entry of a test. It can read and write no table.
--
-- Run it in the program's database as the user who runs `test-analytics migrate`, or as a superuser.
-- A user without CREATEROLE needs the role to exist: an administrator runs
-- `create role test_analytics_receiver login` first. It can be repeated, before and after the tables
-- exist. Set a password in psql with `\password test_analytics_receiver`.
--
--   psql "$DATABASE_URL" -f deploy/upload_role.sql
\set ON_ERROR_STOP on

begin;

do $$
declare
  receiver constant text := 'test_analytics_receiver';
  callable regprocedure;
begin
  if not exists (select from pg_roles where rolname = receiver) then
    execute format('create role %I login', receiver);
  end if;

  -- Only what PUBLIC may not do already: a user who does not own the database cannot grant this.
  if not has_database_privilege(receiver, current_database(), 'connect') then
    execute format('grant connect on database %I to %I', current_database(), receiver);
  end if;
  if not has_schema_privilege(receiver, current_schema(), 'usage') then
    execute format('grant usage on schema %I to %I', current_schema(), receiver);
  end if;

  -- Null before the tables exist: the migration that creates the functions grants the same.
  foreach callable in array array[
    to_regprocedure('upload_token(text, timestamptz)'),
    to_regprocedure('record_token_use(text, timestamptz)'),
    to_regprocedure('quarantine_token(text, timestamptz)'),
    to_regprocedure('trusts_of_issuer(text)'),
    to_regprocedure('lock_test(text, timestamptz, bigint, bigint)'),
    to_regprocedure('change_quarantine(text, timestamptz, bigint, bigint, jsonb, jsonb)')]
  loop
    if callable is not null then
      execute format('revoke all on function %s from public', callable);
      execute format('grant execute on function %s to %I', callable, receiver);
    end if;
  end loop;
  -- What this script granted in earlier versions.
  if to_regclass('api_token') is not null then
    execute format('revoke all on schema_migration, api_token, organization from %I', receiver);
  end if;

  -- The grants restrict the role. This default prevents runaway statements.
  begin
    execute format('alter role %I set statement_timeout = ''10s''', receiver);
  exception when insufficient_privilege then
    raise notice 'the role exists and its settings were left as they are: an administrator can set '
      'statement_timeout';
  end;
end
$$;

commit;
