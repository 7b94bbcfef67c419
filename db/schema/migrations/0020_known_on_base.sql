-- Whether the latest run of a failed test on the base branch had failed, or it had failed there with this cause.
alter table failure_evidence add column is_known_on_base boolean not null default false;
