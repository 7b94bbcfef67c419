-- Until when a token is valid, stated once for all statements that look tokens up. A revoked token is
-- not valid at any time.
alter table api_token add column valid_until timestamptz(0) not null generated always as (
  case when revoked_at is null then coalesce(expires_at, 'infinity') else '-infinity' end) stored;

create or replace function upload_token(token_hash text, moment timestamptz)
returns setof uploader
language plpgsql stable security definer as $$
begin
  return query
    select t.organization_id, t.api_token_id, o.name
    from api_token t
    join organization o on o.organization_id = t.organization_id
    where t.hash = token_hash and t.type = 'upload' and t.valid_until > moment;
end
$$;

-- Replacing a function keeps its privileges, and not its settings.
do $$
begin
  execute format(
    'alter function upload_token(text, timestamptz) set search_path = pg_catalog, %I, pg_temp',
    current_schema());
end
$$;
