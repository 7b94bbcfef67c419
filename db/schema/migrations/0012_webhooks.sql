-- Webhooks, and what is sent to them: an outbox that is written in the transaction of the event.
create table webhook (
  organization_id integer not null references organization (organization_id),
  webhook_id integer not null generated always as identity,
  -- It often contains a secret of the receiver.
  url text not null,
  -- Signs the messages, so it is stored readable: `whsec_` and base64.
  secret text not null,
  events text[] not null,
  -- Null: all of them.
  repository_id bigint,
  owner text,
  format text not null check (format in ('json', 'slack')),
  allows_private boolean not null,
  created_at timestamptz(0) not null,
  primary key (organization_id, webhook_id)
);

create table webhook_delivery (
  organization_id integer not null,
  delivery_id bigint not null generated always as identity,
  webhook_id integer not null,
  -- The same in every attempt.
  message_id text not null,
  repository_id bigint not null,
  event text not null,
  -- At most one message of a cause becomes due in an hour.
  cause text not null,
  -- The ids of the tests, or what has the outage: messages about the same subject are sent in order.
  subjects text[] not null,
  data jsonb not null,
  created_at timestamptz(0) not null,
  due_at timestamptz(0) not null,
  status text not null default 'pending' check (status in ('pending', 'delivered', 'failed')),
  attempt_count integer not null default 0,
  next_attempt_at timestamptz not null,
  attempted_at timestamptz(0),
  -- Of the latest attempt.
  outcome text not null default '',
  primary key (organization_id, delivery_id),
  foreign key (organization_id, webhook_id) references webhook on delete cascade
);
create index webhook_delivery_pending on webhook_delivery (next_attempt_at) where status = 'pending';
create index webhook_delivery_webhook
  on webhook_delivery (organization_id, webhook_id, event, cause, delivery_id);
create index webhook_delivery_subjects on webhook_delivery using gin (subjects);

-- Adds an event to the outbox of each webhook that is for it, with the repository locked. `items` are its
-- subjects, each with `id` and `owners`.
--
-- Hysteresis: a test is announced as flaky again after it was announced as calm, and as calm only if it
-- was announced as flaky; outages likewise. Until a message is attempted for the first time, later items
-- of its cause join it.
create function add_webhook_messages(
  of_organization integer, of_repository bigint, event_type text, event_cause text,
  moment timestamptz, shared jsonb, items jsonb)
returns void
language plpgsql as $$
declare
  hook record;
  item record;
  earlier record;
  waiting record;
  chosen jsonb;
  names text[];
  family text := split_part(event_type, '.', 1);
  is_end boolean := event_type in ('test.calm', 'outage.ended');
begin
  for hook in
    select w.webhook_id, w.owner from webhook w
    where w.organization_id = of_organization and event_type = any(w.events)
      and (w.repository_id is null or w.repository_id = of_repository)
    order by w.webhook_id
  loop
    chosen := '[]';
    names := '{}';
    for item in select i.value, i.value->>'id' as id from jsonb_array_elements(items) i loop
      continue when hook.owner is not null and not item.value->'owners' ? hook.owner;
      if family in ('test', 'outage') then
        select d.delivery_id, d.event, d.status = 'pending' and d.attempt_count = 0
            and d.due_at > moment and d.subjects = array[item.id] as is_held
        into earlier
        from webhook_delivery d
        where d.organization_id = of_organization and d.webhook_id = hook.webhook_id
          and d.subjects @> array[item.id] and split_part(d.event, '.', 1) = family
        order by d.delivery_id desc limit 1;
        if is_end then
          continue when earlier.event is null or earlier.event = event_type;
          -- The receiver has not heard of its beginning.
          if earlier.is_held then
            delete from webhook_delivery d
            where d.organization_id = of_organization and d.delivery_id = earlier.delivery_id
              and d.attempt_count = 0;
            continue when found;
          end if;
        else
          continue when earlier.event = event_type;
        end if;
      end if;
      chosen := chosen || jsonb_build_array(item.value);
      names := names || item.id;
    end loop;
    continue when names = '{}';

    select d.delivery_id, d.due_at, not exists (
        select from webhook_delivery l
        where l.organization_id = of_organization and l.webhook_id = hook.webhook_id
          and l.delivery_id > d.delivery_id and l.subjects && names) as may_join
    into waiting
    from webhook_delivery d
    where d.organization_id = of_organization and d.webhook_id = hook.webhook_id
      and d.event = event_type and d.cause = of_repository || ':' || event_cause
    order by d.delivery_id desc limit 1;
    update webhook_delivery d
    set subjects = d.subjects || names,
      data = jsonb_set(d.data, '{items}', d.data->'items' || chosen)
    where d.organization_id = of_organization and d.delivery_id = waiting.delivery_id
      and d.status = 'pending' and d.attempt_count = 0 and waiting.may_join;
    continue when found;
    insert into webhook_delivery (organization_id, webhook_id, message_id, repository_id, event, cause,
      subjects, data, created_at, due_at, next_attempt_at)
    select of_organization, hook.webhook_id, 'msg_' || replace(gen_random_uuid()::text, '-', ''),
      of_repository, event_type, of_repository || ':' || event_cause, names,
      shared || jsonb_build_object('items', chosen), moment, due, due
    from (select greatest(moment, waiting.due_at + interval '1 hour') as due) as t;
  end loop;
end
$$;

-- As before, and tells the webhooks.
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

-- The URLs and secrets are for the processes that send: owner and `watch`.
do $$
begin
  execute format('alter function change_quarantine(text, timestamptz, bigint, bigint, jsonb, jsonb)'
    ' set search_path = pg_catalog, %I, pg_temp', current_schema());
  if exists (select from pg_roles where rolname = 'test_analytics_reader') then
    revoke all on webhook, webhook_delivery from test_analytics_reader;
  end if;
  if exists (select from pg_roles where rolname = 'test_analytics_writer') then
    revoke insert, update, delete on webhook from test_analytics_writer;
  end if;
end
$$;
