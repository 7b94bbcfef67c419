-- The workflow or pipeline that has the job, as another one may have a job of the same name; '' when unknown. It is
-- part of the code version.
alter table submission add column workflow text not null default '';
