-- The causes of a failure beyond the one of its message, 8 bytes each: of a test that fails in two assertions,
-- or in its tear-down as well. Null for nearly every failure, and for those that were stored before.
alter table negative_result add column other_fingerprints bytea;
