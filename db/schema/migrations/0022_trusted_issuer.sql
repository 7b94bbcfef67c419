-- Issuers of identity tokens (OpenID Connect) with which a CI job uploads without a secret.
create table trusted_issuer (
  organization_id integer not null references organization (organization_id),
  trusted_issuer_id integer not null generated always as identity,
  -- As in the claim `iss`, without a slash at its end.
  issuer text not null,
  -- The values that claims of a token must have, as an object.
  claims jsonb not null,
  -- Null: all of them.
  repository_id bigint,
  -- The claim that names the repository; null: that of GitHub or GitLab.
  repository_claim text,
  -- A JSON Web Key Set; null: the issuer is asked for its keys.
  keys jsonb,
  created_at timestamptz(0) not null,
  primary key (organization_id, trusted_issuer_id)
);
create index trusted_issuer_issuer on trusted_issuer (issuer);

-- A type, for the same reason as `uploader`.
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

-- What `receive` needs to check an identity token: it knows the issuer from the token.
create function trusts_of_issuer(of_issuer text)
returns setof trust
language plpgsql stable security definer as $$
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
$$;

do $$
begin
  execute format('alter function trusts_of_issuer(text) set search_path = pg_catalog, %I, pg_temp',
    current_schema());
  revoke all on function trusts_of_issuer(text) from public;
  if exists (select from pg_roles where rolname = 'test_analytics_receiver') then
    grant execute on function trusts_of_issuer(text) to test_analytics_receiver;
  end if;
  -- A role that could add one could forge uploads of every organization.
  if exists (select from pg_roles where rolname = 'test_analytics_writer') then
    revoke all on trusted_issuer from test_analytics_writer;
  end if;
end
$$;
