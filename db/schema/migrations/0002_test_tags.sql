-- Tags are stored by tag instead of by test: adding one takes a single row, however many tests have it
-- and however many other tags they have.

create table test_tag (
  repository_id bigint not null,
  tag text not null,
  -- test_no of all tests that ran in a submission with this tag.
  tests int4multirange not null,
  primary key (repository_id, tag)
);

insert into test_tag
select t.repository_id, tag, range_agg(int4range(t.test_no, t.test_no, '[]'))
from test t, unnest(t.tags) as tag
where not exists (
  select from unpublished_test_range u
  where u.repository_id = t.repository_id
    and t.test_no >= u.first_test_no and t.test_no < u.end_test_no)
group by t.repository_id, tag;

-- test.tags is not used any more. It stays for `serve` processes of the version before, which may go
-- on reading it until they are restarted.
alter table test_list drop column tags;
