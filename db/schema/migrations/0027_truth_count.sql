-- How many failures of a repository were the change and how many were not, of those that count in shares: not the
-- repeats, and not those of outages. An upload reads a row for each period rather than one for each failure.
create table truth_count (
  repository_id bigint not null,
  -- The first two bytes of the submission ids: 18 hours.
  period integer not null,
  evidence text not null,
  is_on_base boolean not null,
  not_the_change integer not null,
  the_change integer not null,
  primary key (repository_id, period, evidence, is_on_base)
);

insert into truth_count
select repository_id, get_byte(submission_id, 0) * 256 + get_byte(submission_id, 1), evidence, is_on_base,
  count(*) filter (where truth = 'not_the_change'), count(*) filter (where truth = 'the_change')
from failure_evidence
where not is_repeat and truth is not null and evidence <> 'outage'
group by 1, 2, 3, 4;
