-- As before, except that the message of a removal does not wait for those of other tests.
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
      'quarantine.' || (line->'detail'->>'quarantine'),
      -- Only what one author adds is collected for an hour.
      case line->'detail'->>'quarantine'
        when 'added' then coalesce(line->'detail'->>'by', '')
        else line->>'subject'
      end,
      moment,
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
  execute format('alter function change_quarantine(text, timestamptz, bigint, bigint, jsonb, jsonb)'
    ' set search_path = pg_catalog, %I, pg_temp', current_schema());
end
$$;
