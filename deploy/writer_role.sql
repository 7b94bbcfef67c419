-- A role for `test-analytics watch`: it stores uploads and sends webhooks. It can read no tokens, and
-- cannot migrate.
--
-- Run it in the program's database as the user who runs `test-analytics migrate`, or as a superuser.
-- A user without CREATEROLE needs the role to exist: an administrator runs
-- `create role test_analytics_writer login` first. It can be repeated, before and after the tables
-- exist. Set a password in psql with `\password test_analytics_writer`.
--
--   psql "$DATABASE_URL" -f deploy/writer_role.sql
\set ON_ERROR_STOP on

begin;

do $$
declare
  writer constant text := 'test_analytics_writer';
  -- The owner of the tables, also of later ones.
  owner name := coalesce(
    (select pg_get_userbyid(relowner) from pg_class where oid = to_regclass('schema_migration')),
    current_user
  );
  found record;
begin
  if not exists (select from pg_roles where rolname = writer) then
    execute format('create role %I login', writer);
  end if;

  -- Only what PUBLIC may not do already: a user who does not own the database cannot grant this.
  if not has_database_privilege(writer, current_database(), 'connect') then
    execute format('grant connect on database %I to %I', current_database(), writer);
  end if;
  if not has_schema_privilege(writer, current_schema(), 'usage') then
    execute format('grant usage on schema %I to %I', current_schema(), writer);
  end if;

  for found in
    select oid::regclass as name, relkind as kind from pg_class
    where relnamespace = current_schema()::regnamespace and relkind in ('r', 'p', 'S')
      and relowner = owner::regrole
  loop
    if found.kind = 'S' then
      execute format('grant usage on sequence %s to %I', found.name, writer);
    else
      execute format('grant select, insert, update, delete on %s to %I', found.name, writer);
    end if;
  end loop;
  execute format('alter default privileges for role %I in schema %I '
    'grant select, insert, update, delete on tables to %I', owner, current_schema(), writer);
  execute format('alter default privileges for role %I in schema %I grant usage on sequences to %I',
    owner, current_schema(), writer);

  -- What an upload has nothing to do with. Before the tables exist, a migration revokes the same.
  if to_regclass('api_token') is not null then
    execute format('revoke all on api_token from %I', writer);
    execute format('revoke insert, update, delete on schema_migration from %I', writer);
    execute format('revoke insert, update, delete on organization from %I', writer);
    execute format('grant update (next_repository_number) on organization to %I', writer);
    execute format('revoke update, delete on change from %I', writer);
    execute format('revoke delete on repository from %I', writer);
  end if;
  if to_regclass('trusted_issuer') is not null then
    execute format('revoke all on trusted_issuer from %I', writer);
  end if;
  -- It sends their messages, which it signs with their secrets.
  if to_regclass('webhook') is not null then
    execute format('revoke insert, update, delete on webhook from %I', writer);
  end if;

  -- The grants restrict the role. This default prevents abandoned locks.
  begin
    execute format('alter role %I set idle_in_transaction_session_timeout = ''60s''', writer);
  exception when insufficient_privilege then
    raise notice 'the role exists and its settings were left as they are: an administrator can set '
      'idle_in_transaction_session_timeout';
  end;
end
$$;

commit;
