-- A read-only role for `test-analytics serve`.
--
-- Run it in the program's database as the user who runs `test-analytics migrate`, or as a superuser.
-- A user without CREATEROLE needs the role to exist: an administrator runs
-- `create role test_analytics_reader login` first. It can be repeated, before and after the tables
-- exist. Set a password in psql with `\password test_analytics_reader`.
--
--   psql "$DATABASE_URL" -f deploy/read_only_role.sql
\set ON_ERROR_STOP on

begin;

do $$
declare
  reader constant text := 'test_analytics_reader';
  -- The owner of the tables, also of later ones.
  owner name := coalesce(
    (select pg_get_userbyid(relowner) from pg_class where oid = to_regclass('schema_migration')),
    current_user
  );
  found record;
begin
  if not exists (select from pg_roles where rolname = reader) then
    execute format('create role %I login', reader);
  end if;

  -- Only what PUBLIC may not do already: a user who does not own the database cannot grant this.
  if not has_database_privilege(reader, current_database(), 'connect') then
    execute format('grant connect on database %I to %I', current_database(), reader);
  end if;
  if not has_schema_privilege(reader, current_schema(), 'usage') then
    execute format('grant usage on schema %I to %I', current_schema(), reader);
  end if;

  for found in
    select oid::regclass as name from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p')
      and relowner = owner::regrole
  loop
    execute format('grant select on %s to %I', found.name, reader);
  end loop;
  execute format('alter default privileges for role %I in schema %I grant select on tables to %I',
    owner, current_schema(), reader);
  -- URLs and secrets of webhooks. Before the tables exist, a migration revokes the same.
  if to_regclass('webhook') is not null then
    execute format('revoke all on webhook, webhook_delivery from %I', reader);
  end if;

  -- The grants restrict the role. These defaults prevent mistakes and runaway statements.
  begin
    execute format('alter role %I set default_transaction_read_only = on', reader);
    execute format('alter role %I set statement_timeout = ''10s''', reader);
    execute format('alter role %I set idle_in_transaction_session_timeout = ''60s''', reader);
  exception when insufficient_privilege then
    raise notice 'the role exists and its settings were left as they are: an administrator can '
      'set default_transaction_read_only, statement_timeout, idle_in_transaction_session_timeout';
  end;
end
$$;

commit;
