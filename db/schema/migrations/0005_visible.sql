-- An upload is one transaction, which creates its repository and tests: what exists is visible.

-- What interrupted uploads left: repositories without a number and tests without a submission. On Citus
-- the number alone can be missing, where the coordinator died after the worker had committed.
do $$
declare
  hidden record;
begin
  for hidden in
    select r.organization_id, r.repository_id from repository r
    where r.repository_number is null order by r.repository_id
  loop
    if exists (
      select 1 from repository_state s
      where s.repository_id = hidden.repository_id and s.is_visible)
    then
      update repository set repository_number = (
        select min(number)
        from organization o, generate_series(o.next_repository_number, o.next_repository_number + (
          select count(*) from repository r where r.organization_id = hidden.organization_id)) as number
        where o.organization_id = hidden.organization_id and not exists (
          select 1 from repository r
          where r.organization_id = hidden.organization_id and r.repository_number = number))
      where repository_id = hidden.repository_id;
    else
      delete from test where repository_id = hidden.repository_id;
      delete from unpublished_test_range where repository_id = hidden.repository_id;
      delete from repository_state where repository_id = hidden.repository_id;
      delete from repository where repository_id = hidden.repository_id;
    end if;
  end loop;
end
$$;

delete from test t using unpublished_test_range u
where t.repository_id = u.repository_id
  and t.test_no >= u.first_test_no and t.test_no < u.end_test_no;

drop table unpublished_test_range;

alter table repository alter column repository_number set not null;

drop function published_test;

create function stored_test(repository_id bigint, test_hash bigint)
returns table (test_no integer)
language sql stable as $$
  select t.test_no from test t
  where t.repository_id = $1 and t.test_hash = $2
$$;

create or replace function repository_version(
  repository_id bigint, first_submission_id bytea, moment timestamptz)
returns table (
  data_version bigint, oldest_submission_id bytea, next_quarantine_end timestamptz)
language sql stable as $$
  select v.data_version, (
    select s.submission_id from submission s
    where s.repository_id = $1 and s.submission_id >= $2
    order by s.submission_id limit 1), (
    select min(q.quarantine_expires_at) from quarantine q
    where q.repository_id = $1 and q.quarantine_expires_at > $3)
  from repository_state v
  where v.repository_id = $1
$$;

alter table repository_state drop column is_visible;
