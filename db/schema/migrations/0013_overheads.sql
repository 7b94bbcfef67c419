-- The time of suites beyond their tests, as lib/analysis/suite_overheads.ts encodes it. Empty for submissions
-- that were stored before.
alter table submission add column overheads bytea not null default '';
