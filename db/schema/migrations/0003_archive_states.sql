-- An archive whose results are those of another submission, or were deleted, stores nothing: written
-- again, it is a new upload.
alter table archive drop constraint archive_status_check;
alter table archive add constraint archive_status_check
  check (status in ('processing', 'processed', 'duplicate', 'failed', 'deleted'));

-- The key of its submission: its own, or with a suffix when another source has brought that key into the
-- repository. Known together with the repository.
alter table archive add column submission_key text;
update archive set submission_key = key where repository_id is not null;
-- On Citus submissions are on other servers than archives.
create temporary table suffixed on commit drop as
  select repository_id, key from submission where key ~ '#[0-9a-f]{8}$';
update archive a set submission_key = s.key
from suffixed s
where s.repository_id = a.repository_id
  and s.key = a.key || '#' || left(encode(sha256(convert_to(a.source, 'UTF8')), 'hex'), 8);
create index archive_submission on archive (repository_id, submission_key)
  where repository_id is not null;
