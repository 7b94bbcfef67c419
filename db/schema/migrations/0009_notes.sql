-- What was repaired, ignored or left out of an upload, and its tests that stand for several tests of
-- one name in a report: those are never quarantined automatically.
alter table submission
  add column notes text[] not null default '{}',
  add column ambiguous_test_nos integer[] not null default '{}';
