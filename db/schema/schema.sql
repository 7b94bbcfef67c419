-- The schema after all migrations. Written by: deno task fix

create sequence repository_id_sequence as bigint;

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
  quarantined_at timestamp with time zone,
  quarantined_by text,
  quarantine_type text,
  quarantine_reason text,
  quarantine_owner text,
  quarantine_expires_at timestamp with time zone,
  quarantine_environment text
);

create type trust as (
  organization_id integer,
  trusted_issuer_id integer,
  organization_name text,
  claims jsonb,
  repository_id bigint,
  repository_owner text,
  repository_name text,
  repository_claim text,
  keys jsonb
);

create type uploader as (
  organization_id integer,
  api_token_id integer,
  organization_name text,
  label text,
  repository_id bigint,
  repository_owner text,
  repository_name text
);

create table api_token (
  organization_id integer not null,
  api_token_id integer not null generated always as identity,
  type text not null,
  repository_id bigint,
  token_prefix text,
  hash text not null,
  label text,
  created_at timestamp(0) with time zone not null,
  expires_at timestamp(0) with time zone,
  revoked_at timestamp(0) with time zone,
  last_used_at timestamp(0) with time zone,
  valid_until timestamp(0) with time zone not null generated always as (
CASE
    WHEN (revoked_at IS NULL) THEN COALESCE(expires_at, 'infinity'::timestamp with time zone)
    ELSE '-infinity'::timestamp with time zone
END) stored,
  person text,
  constraint api_token_pkey PRIMARY KEY (organization_id, api_token_id),
  constraint api_token_hash_key UNIQUE (hash),
  constraint api_token_check CHECK (((type = ANY (ARRAY['upload'::text, 'quarantine'::text])) OR ((repository_id IS NOT NULL) = (type = 'badge'::text)))),
  constraint api_token_type_check CHECK ((type = ANY (ARRAY['api_token'::text, 'legacy'::text, 'upload'::text, 'badge'::text, 'quarantine'::text]))),
  constraint api_token_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(organization_id)
);

create table archive (
  source text not null,
  key text not null,
  version text not null,
  status text not null,
  claim_id uuid,
  claimed_until timestamp with time zone,
  attempt_count integer not null default 0,
  reason text not null default ''::text,
  repository_id bigint,
  found_at timestamp(0) with time zone not null,
  finished_at timestamp(0) with time zone,
  submission_key text,
  lost_count integer not null default 0,
  constraint archive_pkey PRIMARY KEY (source, key),
  constraint archive_status_check CHECK ((status = ANY (ARRAY['processing'::text, 'processed'::text, 'duplicate'::text, 'failed'::text, 'deleted'::text])))
);
CREATE INDEX archive_submission ON archive USING btree (repository_id, submission_key) WHERE (repository_id IS NOT NULL);
CREATE INDEX archive_unfinished ON archive USING btree (source, status) WHERE (status <> 'processed'::text);

create table change (
  organization_id integer not null,
  change_id bigint not null generated always as identity,
  changed_at timestamp(0) with time zone not null,
  author text not null,
  command text not null,
  subject text not null,
  detail jsonb not null,
  constraint change_pkey PRIMARY KEY (organization_id, change_id),
  constraint change_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(organization_id)
);
CREATE INDEX change_subject ON change USING btree (organization_id, subject);

create table coverage_report (
  repository_id bigint not null,
  coverage_report_id bigint not null generated always as identity,
  recorded_at timestamp(0) with time zone not null,
  submission_id bytea,
  covered_line_count bigint not null,
  line_count bigint not null,
  constraint coverage_report_pkey PRIMARY KEY (repository_id, coverage_report_id),
  constraint coverage_report_repository_id_submission_id_key UNIQUE (repository_id, submission_id),
  constraint coverage_report_check CHECK (((line_count > 0) AND (covered_line_count <= line_count))),
  constraint coverage_report_covered_line_count_check CHECK ((covered_line_count >= 0))
);

create table disruptive_test (
  repository_id bigint not null,
  test_no integer not null,
  first_disruption_at timestamp(0) with time zone not null,
  latest_submission_id bytea not null,
  latest_result_no integer not null,
  latest_commit_oid text not null,
  latest_build_url text not null,
  latest_message text not null,
  positive_submission_id bytea not null,
  positive_build_url text not null,
  constraint disruptive_test_pkey PRIMARY KEY (repository_id, test_no)
);

create table failure_evidence (
  repository_id bigint not null,
  submission_id bytea not null,
  test_no integer not null,
  evidence text not null,
  is_on_base boolean not null,
  rests_on bytea,
  base_run_count integer not null,
  base_failed_count integer not null,
  share_not_the_change integer,
  share_of integer,
  share_from text,
  is_repeat boolean not null,
  truth text,
  is_known_on_base boolean not null default false,
  constraint failure_evidence_pkey PRIMARY KEY (repository_id, submission_id, test_no),
  constraint failure_evidence_share_from_check CHECK ((share_from = ANY (ARRAY['repository'::text, 'organization'::text, 'published'::text]))),
  constraint failure_evidence_truth_check CHECK ((truth = ANY (ARRAY['not_the_change'::text, 'the_change'::text])))
);

create table failure_text (
  repository_id bigint not null,
  text_id bytea not null,
  message text not null,
  body bytea storage external not null,
  constraint failure_text_pkey PRIMARY KEY (repository_id, text_id)
);

create table negative_result (
  repository_id bigint not null,
  submission_id bytea not null,
  result_no integer not null,
  test_no integer not null,
  is_disruption boolean not null,
  conclusion text not null,
  text_id bytea not null,
  fingerprint bytea not null,
  other_fingerprints bytea,
  constraint negative_result_pkey PRIMARY KEY (repository_id, submission_id, is_disruption, test_no, result_no),
  constraint negative_result_conclusion_check CHECK ((conclusion = ANY (ARRAY['failure'::text, 'error'::text])))
);
CREATE INDEX negative_result_test ON negative_result USING btree (repository_id, test_no, is_disruption, (((get_byte(submission_id, 0) * 32) + (get_byte(submission_id, 1) / 8))));

create table organization (
  organization_id integer not null generated always as identity,
  name text not null,
  name_key text not null,
  purchase_unit_count integer not null default 0,
  next_repository_number bigint not null default 1,
  quarantine_policy jsonb,
  created_at timestamp(0) with time zone not null,
  constraint organization_pkey PRIMARY KEY (organization_id),
  constraint organization_name_key_key UNIQUE (name_key),
  constraint organization_purchase_unit_count_check CHECK ((purchase_unit_count >= 0))
);

create table quarantine (
  repository_id bigint not null,
  test_no integer not null,
  quarantined_at timestamp(0) with time zone not null,
  quarantined_by text,
  quarantine_type text not null,
  quarantine_reason text,
  quarantine_owner text,
  quarantine_expires_at timestamp(0) with time zone,
  quarantine_environment text,
  constraint quarantine_pkey PRIMARY KEY (repository_id, test_no),
  constraint quarantine_quarantine_type_check CHECK ((quarantine_type = ANY (ARRAY['manual'::text, 'automatic'::text])))
);
CREATE INDEX quarantine_end ON quarantine USING btree (repository_id, quarantine_expires_at) WHERE (quarantine_expires_at IS NOT NULL);

create table repository (
  organization_id integer not null,
  repository_id bigint not null default nextval('repository_id_sequence'::regclass),
  repository_number bigint not null,
  owner text not null,
  name text not null,
  owner_key text not null,
  name_key text not null,
  url text not null default ''::text,
  id_prefix bigint not null,
  quarantine_policy jsonb,
  created_at timestamp(0) with time zone not null,
  base_branch text,
  default_branch text,
  constraint repository_pkey PRIMARY KEY (organization_id, repository_id),
  constraint repository_id_prefix_key UNIQUE (id_prefix),
  constraint repository_organization_id_owner_key_name_key_key UNIQUE (organization_id, owner_key, name_key),
  constraint repository_organization_id_repository_number_key UNIQUE (organization_id, repository_number),
  constraint repository_repository_id_key UNIQUE (repository_id),
  constraint repository_repository_number_check CHECK (((repository_number >= 1) AND (repository_number <= '9007199254740991'::bigint))),
  constraint repository_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(organization_id)
);

create table repository_state (
  repository_id bigint not null,
  id_prefix bigint not null,
  data_version bigint not null,
  addition_count bigint not null default 0,
  next_test_no integer not null default 0,
  next_test_list_no integer not null default 0,
  rules integer not null default 1,
  constraint repository_state_pkey PRIMARY KEY (repository_id)
);

create table schema_migration (
  version integer not null,
  checksum text not null,
  migrated_at timestamp(0) with time zone not null default now(),
  build text,
  constraint schema_migration_pkey PRIMARY KEY (version)
);

create table submission (
  repository_id bigint not null,
  submission_id bytea not null,
  recorded_at timestamp(0) with time zone not null,
  uploaded_at timestamp(0) with time zone not null,
  status text not null,
  key text not null,
  build_url text not null default ''::text,
  commit_oid text not null,
  tree_oid text,
  branch text,
  code_version text not null generated always as (
CASE
    WHEN (tree_oid IS NOT NULL) THEN ('tree:'::text || tree_oid)
    WHEN (commit_oid ~ '^[0-9A-Fa-f]{7,64}$'::text) THEN ('commit:'::text || commit_oid)
    ELSE ('submission:'::text || encode(submission_id, 'hex'::text))
END) stored,
  tags text[] not null default '{}'::text[],
  upload_digest bytea,
  test_result_count integer not null default 0,
  test_list_no integer,
  test_tag_digest bytea,
  durations bytea storage external,
  duration_unit integer,
  exceptions bytea,
  data_version bigint not null,
  environment text not null default ''::text,
  job text not null default ''::text,
  shard text not null default ''::text,
  notes text[] not null default '{}'::text[],
  ambiguous_test_nos integer[] not null default '{}'::integer[],
  ran_test_count integer,
  skipped_test_count integer,
  failed_test_count integer,
  overheads bytea not null default '\x'::bytea,
  attempt text not null default ''::text,
  runner text not null default ''::text,
  is_outage boolean not null default false,
  exit_code integer,
  pull_number bigint,
  pull_title text not null default ''::text,
  author text not null default ''::text,
  queue_base text not null default ''::text,
  cut_off_report_count integer,
  unlisted_suite_count integer,
  outside_failure_count integer,
  empty_report_count integer,
  workflow text not null default ''::text,
  failed_after_pass boolean not null default false,
  constraint submission_pkey PRIMARY KEY (repository_id, submission_id),
  constraint submission_repository_id_key_key UNIQUE (repository_id, key),
  constraint submission_repository_id_upload_digest_key UNIQUE (repository_id, upload_digest),
  constraint submission_status_check CHECK ((status = ANY (ARRAY['processing'::text, 'processed'::text, 'failed'::text]))),
  constraint submission_submission_id_check CHECK ((length(submission_id) = 12)),
  constraint submission_upload_digest_check CHECK ((length(upload_digest) = 16))
);
CREATE INDEX submission_branch ON submission USING btree (repository_id, branch, submission_id);
CREATE INDEX submission_build ON submission USING btree (repository_id, md5(build_url)) WHERE (build_url <> ''::text);
CREATE INDEX submission_code_version ON submission USING btree (repository_id, code_version);
CREATE INDEX submission_data_version ON submission USING btree (repository_id, data_version);
CREATE INDEX submission_failed ON submission USING btree (repository_id, COALESCE(NULLIF(queue_base, ''::text), "substring"(branch, '^gh-readonly-queue/(.+)/pr-[^/]+$'::text), branch), submission_id) WHERE (failed_test_count > 0);
CREATE INDEX submission_failed_after_pass ON submission USING btree (repository_id, submission_id) WHERE failed_after_pass;
CREATE INDEX submission_job ON submission USING btree (repository_id, job, environment, shard, submission_id) WHERE (job <> ''::text);
CREATE INDEX submission_pull ON submission USING btree (repository_id, pull_number, submission_id) WHERE (pull_number IS NOT NULL);

create table test (
  repository_id bigint not null,
  test_no integer not null,
  test_hash bigint not null,
  suite text not null,
  class text not null,
  name text not null,
  file text not null,
  alias_hash bigint,
  file_matched_at timestamp(0) with time zone,
  constraint test_pkey PRIMARY KEY (repository_id, test_no),
  constraint test_repository_id_test_hash_key UNIQUE (repository_id, test_hash)
);
CREATE UNIQUE INDEX test_alias ON test USING btree (repository_id, alias_hash) WHERE (alias_hash IS NOT NULL);
CREATE INDEX test_name ON test USING btree (repository_id, hashtextextended(((((suite || ''::text) || class) || ''::text) || name), (0)::bigint)) WHERE (file <> ''::text);

create table test_list (
  repository_id bigint not null,
  test_list_no integer not null,
  list_hash bytea not null,
  test_count integer not null,
  tests bytea not null,
  constraint test_list_pkey PRIMARY KEY (repository_id, test_list_no),
  constraint test_list_list_hash_repository_id_key UNIQUE (list_hash, repository_id)
);

create table test_tag (
  repository_id bigint not null,
  tag text not null,
  tests int4multirange not null,
  constraint test_tag_pkey PRIMARY KEY (repository_id, tag)
);

create table test_tag_set (
  repository_id bigint not null,
  digest bytea not null,
  tag_groups text not null,
  constraint test_tag_set_pkey PRIMARY KEY (repository_id, digest)
);

create table trusted_issuer (
  organization_id integer not null,
  trusted_issuer_id integer not null generated always as identity,
  issuer text not null,
  claims jsonb not null,
  repository_id bigint,
  repository_claim text,
  keys jsonb,
  created_at timestamp(0) with time zone not null,
  constraint trusted_issuer_pkey PRIMARY KEY (organization_id, trusted_issuer_id),
  constraint trusted_issuer_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(organization_id)
);
CREATE INDEX trusted_issuer_issuer ON trusted_issuer USING btree (issuer);

create table truth_count (
  repository_id bigint not null,
  period integer not null,
  evidence text not null,
  is_on_base boolean not null,
  not_the_change integer not null,
  the_change integer not null,
  constraint truth_count_pkey PRIMARY KEY (repository_id, period, evidence, is_on_base)
);

create table webhook (
  organization_id integer not null,
  webhook_id integer not null generated always as identity,
  url text not null,
  secret text not null,
  events text[] not null,
  repository_id bigint,
  owner text,
  format text not null,
  allows_private boolean not null,
  created_at timestamp(0) with time zone not null,
  constraint webhook_pkey PRIMARY KEY (organization_id, webhook_id),
  constraint webhook_format_check CHECK ((format = ANY (ARRAY['json'::text, 'slack'::text]))),
  constraint webhook_organization_id_fkey FOREIGN KEY (organization_id) REFERENCES organization(organization_id)
);

create table webhook_delivery (
  organization_id integer not null,
  delivery_id bigint not null generated always as identity,
  webhook_id integer not null,
  message_id text not null,
  repository_id bigint not null,
  event text not null,
  cause text not null,
  subjects text[] not null,
  data jsonb not null,
  created_at timestamp(0) with time zone not null,
  due_at timestamp(0) with time zone not null,
  status text not null default 'pending'::text,
  attempt_count integer not null default 0,
  next_attempt_at timestamp with time zone not null,
  attempted_at timestamp(0) with time zone,
  outcome text not null default ''::text,
  constraint webhook_delivery_pkey PRIMARY KEY (organization_id, delivery_id),
  constraint webhook_delivery_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'delivered'::text, 'failed'::text]))),
  constraint webhook_delivery_organization_id_webhook_id_fkey FOREIGN KEY (organization_id, webhook_id) REFERENCES webhook(organization_id, webhook_id) ON DELETE CASCADE
);
CREATE INDEX webhook_delivery_pending ON webhook_delivery USING btree (next_attempt_at) WHERE (status = 'pending'::text);
CREATE INDEX webhook_delivery_subjects ON webhook_delivery USING gin (subjects);
CREATE INDEX webhook_delivery_webhook ON webhook_delivery USING btree (organization_id, webhook_id, event, cause, delivery_id);

create function add_webhook_messages(of_organization integer, of_repository bigint, event_type text, event_cause text, moment timestamp with time zone, shared jsonb, items jsonb)
 RETURNS void
 LANGUAGE plpgsql
AS $function$
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
$function$;

create function change_quarantine(token_hash text, moment timestamp with time zone, test_id_prefix bigint, hash_of_test bigint, entry jsonb, line jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
$function$;

create function lock_test(token_hash text, moment timestamp with time zone, test_id_prefix bigint, hash_of_test bigint)
 RETURNS SETOF quarantined_test
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
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
$function$;

create function quarantine_token(token_hash text, moment timestamp with time zone)
 RETURNS SETOF uploader
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select * from valid_token('quarantine', token_hash, moment);
end
$function$;

create function record_token_use(token_hash text, used_at timestamp with time zone)
 RETURNS void
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  update api_token t set last_used_at = least(used_at, now())
  where t.hash = token_hash and (t.last_used_at is null or t.last_used_at < least(used_at, now()));
end
$function$;

create function repository_version(repository_id bigint, first_submission_id bytea, moment timestamp with time zone)
 RETURNS TABLE(data_version bigint, oldest_submission_id bytea, next_quarantine_end timestamp with time zone)
 LANGUAGE sql
 STABLE
AS $function$
  select v.data_version, (
    select s.submission_id from submission s
    where s.repository_id = $1 and s.submission_id >= $2
    order by s.submission_id limit 1), (
    select min(q.quarantine_expires_at) from quarantine q
    where q.repository_id = $1 and q.quarantine_expires_at > $3)
  from repository_state v
  where v.repository_id = $1
$function$;

create function stored_submission(repository_id bigint, submission_id bytea)
 RETURNS TABLE(key text)
 LANGUAGE sql
 STABLE
AS $function$
  select s.key from submission s
  where s.repository_id = $1 and s.submission_id = $2
$function$;

create function stored_test(repository_id bigint, test_hash bigint)
 RETURNS TABLE(test_no integer)
 LANGUAGE sql
 STABLE
AS $function$
  select t.test_no from test t
  where t.repository_id = $1 and t.test_hash = $2
$function$;

create function trusts_of_issuer(of_issuer text)
 RETURNS SETOF trust
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query
    select t.organization_id, t.trusted_issuer_id, o.name, t.claims, t.repository_id, r.owner, r.name,
      t.repository_claim, t.keys
    from trusted_issuer t
    join organization o on o.organization_id = t.organization_id
    left join repository r
      on r.organization_id = t.organization_id and r.repository_id = t.repository_id
    where t.issuer = of_issuer;
end
$function$;

create function upload_token(token_hash text, moment timestamp with time zone)
 RETURNS SETOF uploader
 LANGUAGE plpgsql
 STABLE SECURITY DEFINER
 SET search_path TO 'pg_catalog', 'public', 'pg_temp'
AS $function$
begin
  return query select * from valid_token('upload', token_hash, moment);
end
$function$;

create function valid_token(token_type text, token_hash text, moment timestamp with time zone)
 RETURNS SETOF uploader
 LANGUAGE sql
 STABLE
AS $function$
  select t.organization_id, t.api_token_id, o.name, t.label, t.repository_id, r.owner, r.name
  from api_token t
  join organization o on o.organization_id = t.organization_id
  left join repository r
    on r.organization_id = t.organization_id and r.repository_id = t.repository_id
  where t.hash = token_hash and t.type = token_type and t.valid_until > moment
$function$;
