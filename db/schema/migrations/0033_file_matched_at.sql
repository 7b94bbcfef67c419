-- When a test that was known without a file got its file, as recorded_at of the upload that has the file. A test in
-- another file that is as old, or little younger, shows that the match was a mistake; null: no longer in doubt.
alter table test add column file_matched_at timestamp(0) with time zone;
