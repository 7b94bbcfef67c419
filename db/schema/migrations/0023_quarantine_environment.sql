-- Patterns of the environments to which an entry is limited, separated by commas; null: all.
alter table quarantine add column quarantine_environment text;
alter type quarantined_test add attribute quarantine_environment text;

-- The test with an id if the token may change its entry. Locks its repository, as every change does.
create or replace function lock_test(
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
      q.quarantine_owner, q.quarantine_expires_at::timestamptz, q.quarantine_environment
    from test t
    left join quarantine q on q.repository_id = t.repository_id and q.test_no = t.test_no
    where t.repository_id = found_repository.repository_id and t.test_hash = hash_of_test;
end
$$;

-- Replaces or removes an entry, as before.
create or replace function change_quarantine(
  token_hash text, moment timestamptz, test_id_prefix bigint, hash_of_test bigint, entry jsonb,
  line jsonb)
returns boolean
language plpgsql security definer as $$
declare
  changed quarantined_test;
  owners jsonb;
begin
  select * into changed from lock_test(token_hash, moment, test_id_prefix, hash_of_test);
  if not found then return false; end if;
  delete from quarantine q
  where q.repository_id = changed.repository_id and q.test_no = changed.test_no;
  if entry is not null then
    insert into quarantine (repository_id, test_no, quarantined_at, quarantined_by,
      quarantine_type, quarantine_reason, quarantine_owner, quarantine_expires_at,
      quarantine_environment)
    values (changed.repository_id, changed.test_no, to_timestamp((entry->>'quarantinedAt')::float8),
      entry->>'quarantinedBy', entry->>'quarantineType', entry->>'quarantineReason',
      entry->>'quarantineOwner', to_timestamp((entry->>'quarantineExpiresAt')::float8),
      entry->>'quarantineEnvironment');
  end if;
  update repository_state s set data_version = data_version + 1
  where s.repository_id = changed.repository_id;
  insert into change (organization_id, changed_at, author, command, subject, detail)
  values (changed.organization_id, moment, line->>'author', line->>'command', line->>'subject',
    line->'detail');
  if line->'detail'->>'quarantine' in ('added', 'removed') then
    select coalesce(jsonb_agg(substr(t.tag, 7) order by t.tag), '[]') into owners from test_tag t
    where t.repository_id = changed.repository_id and starts_with(t.tag, 'owner:')
      and t.tests @> changed.test_no;
    perform add_webhook_messages(changed.organization_id, changed.repository_id,
      'quarantine.' || (line->'detail'->>'quarantine'), coalesce(line->'detail'->>'by', ''), moment,
      jsonb_build_object('repository', line->'detail'->'repository'),
      jsonb_build_array((line->'detail') - 'quarantine' - 'repository'
        || jsonb_build_object('id', line->'subject', 'owners', owners)));
  end if;
  return true;
end
$$;

-- A function that is replaced loses its settings.
do $$
begin
  execute format('alter function lock_test(text, timestamptz, bigint, bigint)'
    ' set search_path = pg_catalog, %I, pg_temp', current_schema());
  execute format('alter function change_quarantine(text, timestamptz, bigint, bigint, jsonb, jsonb)'
    ' set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
