-- Upload tokens of one repository, and quarantine tokens: they add and remove entries over HTTP, for an
-- organization or for one repository. `receive` calls functions for it, as for uploads, so that its role
-- still needs no privilege on a table.
alter table api_token
  drop constraint api_token_type_check,
  drop constraint api_token_check,
  add constraint api_token_type_check
    check (type in ('api_token', 'legacy', 'upload', 'badge', 'quarantine')),
  add constraint api_token_check
    check (type in ('upload', 'quarantine') or (repository_id is not null) = (type = 'badge'));

-- The repository of a token that is for one only.
alter type uploader
  add attribute label text,
  add attribute repository_id bigint,
  add attribute repository_owner text,
  add attribute repository_name text;

create function valid_token(token_type text, token_hash text, moment timestamptz)
returns setof uploader
language sql stable as $$
  select t.organization_id, t.api_token_id, o.name, t.label, t.repository_id, r.owner, r.name
  from api_token t
  join organization o on o.organization_id = t.organization_id
  left join repository r
    on r.organization_id = t.organization_id and r.repository_id = t.repository_id
  where t.hash = token_hash and t.type = token_type and t.valid_until > moment
$$;

create or replace function upload_token(token_hash text, moment timestamptz)
returns setof uploader
language plpgsql stable security definer as $$
begin
  return query select * from valid_token('upload', token_hash, moment);
end
$$;

create function quarantine_token(token_hash text, moment timestamptz)
returns setof uploader
language plpgsql stable security definer as $$
begin
  return query select * from valid_token('quarantine', token_hash, moment);
end
$$;

-- A test and its entry, which may have ended. A type, for the same reason as `uploader`.
create type quarantined_test as (
  organization_id integer,
  repository_id bigint,
  owner text,
  repository_name text,
  test_no integer,
  suite text,
  class text,
  name text,
  file text,
  quarantined_at timestamptz,
  quarantined_by text,
  quarantine_type text,
  quarantine_reason text,
  quarantine_owner text,
  quarantine_expires_at timestamptz
);

-- The test with an id if the token may change its entry. Locks its repository, as every change does.
create function lock_test(
  token_hash text, moment timestamptz, test_id_prefix bigint, hash_of_test bigint)
returns setof quarantined_test
language plpgsql security definer as $$
declare
  found_repository record;
begin
  select r.organization_id, r.repository_id, r.owner, r.name into found_repository
  from valid_token('quarantine', token_hash, moment) t
  join repository r
    on r.organization_id = t.organization_id
      and (t.repository_id is null or r.repository_id = t.repository_id)
  where r.id_prefix = test_id_prefix;
  if not found then return; end if;
  perform from repository_state s
  where s.repository_id = found_repository.repository_id
  for no key update;
  return query
    select found_repository.organization_id, found_repository.repository_id,
      found_repository.owner, found_repository.name, t.test_no, t.suite, t.class, t.name, t.file,
      q.quarantined_at::timestamptz, q.quarantined_by, q.quarantine_type, q.quarantine_reason,
      q.quarantine_owner, q.quarantine_expires_at::timestamptz
    from test t
    left join quarantine q on q.repository_id = t.repository_id and q.test_no = t.test_no
    where t.repository_id = found_repository.repository_id and t.test_hash = hash_of_test;
end
$$;

-- Replaces the entry of a test, or removes it where `entry` is null, and adds a line to the log. False
-- when there is no such test.
create function change_quarantine(
  token_hash text, moment timestamptz, test_id_prefix bigint, hash_of_test bigint, entry jsonb,
  line jsonb)
returns boolean
language plpgsql security definer as $$
declare
  changed quarantined_test;
begin
  select * into changed from lock_test(token_hash, moment, test_id_prefix, hash_of_test);
  if not found then return false; end if;
  delete from quarantine q
  where q.repository_id = changed.repository_id and q.test_no = changed.test_no;
  if entry is not null then
    insert into quarantine (repository_id, test_no, quarantined_at, quarantined_by,
      quarantine_type, quarantine_reason, quarantine_owner, quarantine_expires_at)
    values (changed.repository_id, changed.test_no, to_timestamp((entry->>'quarantinedAt')::float8),
      entry->>'quarantinedBy', entry->>'quarantineType', entry->>'quarantineReason',
      entry->>'quarantineOwner', to_timestamp((entry->>'quarantineExpiresAt')::float8));
  end if;
  update repository_state s set data_version = data_version + 1
  where s.repository_id = changed.repository_id;
  insert into change (organization_id, changed_at, author, command, subject, detail)
  values (changed.organization_id, moment, line->>'author', line->>'command', line->>'subject',
    line->'detail');
  return true;
end
$$;

do $$
declare
  callable regprocedure;
begin
  foreach callable in array array[
    'upload_token(text, timestamptz)', 'quarantine_token(text, timestamptz)',
    'lock_test(text, timestamptz, bigint, bigint)',
    'change_quarantine(text, timestamptz, bigint, bigint, jsonb, jsonb)']::regprocedure[]
  loop
    execute format('alter function %s set search_path = pg_catalog, %I, pg_temp',
      callable, current_schema());
    execute format('revoke all on function %s from public', callable);
    if exists (select from pg_roles where rolname = 'test_analytics_receiver') then
      execute format('grant execute on function %s to test_analytics_receiver', callable);
    end if;
  end loop;
end
$$;
