-- What the reports of a submission hide; null in one of an earlier version.
alter table submission
  add column cut_off_report_count integer,
  add column unlisted_suite_count integer,
  add column outside_failure_count integer,
  add column empty_report_count integer;
