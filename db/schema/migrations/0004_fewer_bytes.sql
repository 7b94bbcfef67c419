-- Fewer bytes for each failure. Nothing that was stored is written anew.

-- The primary key says as well how many disruptions each test has in the window, from the index
-- alone: one index instead of two. The flag and the test's number fill what would be padding between
-- the id and result_no, so that it is no larger than before.
drop index negative_result_window;
alter table negative_result
  drop constraint negative_result_pkey,
  add primary key (repository_id, submission_id, is_disruption, test_no, result_no);

-- The latest disruptions of a test: from some weeks, of which an entry holds all disruptions of that
-- test. A week is 2^19 s here, the leading bits of the id. Entries with the whole id took seven times
-- as much, and what is read besides is at most one such week.
drop index negative_result_disruption;
create index negative_result_disruption on negative_result (repository_id, test_no,
  (get_byte(submission_id, 0) * 32 + get_byte(submission_id, 1) / 8))
  where is_disruption;

-- Of a failure exactly one is not null: its own message, or the place of one in submission.messages,
-- from 1 on. That column comes with the next migration: while the indexes are made, whoever reads
-- submissions and then failures waits, and would be waited for here.
alter table negative_result
  alter column message drop not null,
  add column message_no integer,
  add check (num_nonnulls(message, message_no) = 1);
