-- Which attempt of the job in its build, as CI counts when a person runs it again, and the machine that ran
-- it; '' when unknown.
alter table submission add column attempt text not null default '';
alter table submission add column runner text not null default '';
