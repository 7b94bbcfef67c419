-- How often a process ended while it had the archive: one that exhausts memory must not end every process.
alter table archive add column lost_count integer not null default 0;
