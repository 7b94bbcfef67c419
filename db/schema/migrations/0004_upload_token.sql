-- All that `receive` may do with tokens. The functions run with the rights of their owner, so that its
-- role needs no privilege on a table. deploy/upload_role.sql and deploy/writer_role.sql grant the same
-- to a database that is migrated already.

-- An organization by a valid upload token of it. A type, because attributes can be added to it: a
-- function with another result would be another function, without the privileges.
create type uploader as (
  organization_id integer,
  api_token_id integer,
  organization_name text
);

create function upload_token(token_hash text, moment timestamptz)
returns setof uploader
language plpgsql stable security definer as $$
begin
  return query
    select t.organization_id, t.api_token_id, o.name
    from api_token t
    join organization o on o.organization_id = t.organization_id
    where t.hash = token_hash and t.type = 'upload' and t.revoked_at is null
      and (t.expires_at is null or t.expires_at > moment);
end
$$;

-- Only for a caller that knows the hash, only forwards, never later than now.
create function record_token_use(token_hash text, used_at timestamptz)
returns void
language plpgsql security definer as $$
begin
  update api_token t set last_used_at = least(used_at, now())
  where t.hash = token_hash and (t.last_used_at is null or t.last_used_at < least(used_at, now()));
end
$$;

do $$
declare
  callable regprocedure;
begin
  foreach callable in array array[
    'upload_token(text, timestamptz)', 'record_token_use(text, timestamptz)']::regprocedure[]
  loop
    -- What the caller creates is never found before the tables.
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp',
      callable, current_schema());
    execute format('revoke all on function %s from public', callable);
    if exists (select from pg_roles where rolname = 'test_analytics_receiver') then
      execute format('grant execute on function %s to test_analytics_receiver', callable);
    end if;
  end loop;

  if exists (select from pg_roles where rolname = 'test_analytics_receiver') then
    revoke all on schema_migration, api_token, organization from test_analytics_receiver;
  end if;
  if exists (select from pg_roles where rolname = 'test_analytics_writer') then
    revoke all on api_token from test_analytics_writer;
    revoke insert, update, delete on schema_migration from test_analytics_writer;
    revoke insert, update, delete on organization from test_analytics_writer;
    grant update (next_repository_number) on organization to test_analytics_writer;
    revoke update, delete on change from test_analytics_writer;
    revoke delete on repository from test_analytics_writer;
  end if;
end
$$;
