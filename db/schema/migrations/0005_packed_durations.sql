-- Durations as differences from what is typical of each test. What was stored stays as it is.

-- Tables are altered in the order in which they are read, submissions first: nobody who reads one
-- table after the other waits for what waits for him. Whoever writes locks a row of this one first.
lock table repository in exclusive mode;

-- Messages that several failures of the submission have, each once; null for none.
alter table submission add column messages text[];

-- In the place of durations where they were packed; duration_unit holds for both.
alter table submission add column packed_durations bytea;
alter table submission alter column packed_durations set storage external;

-- What the tests of the list typically take, a byte each in its order: see
-- lib/analysis/packed_durations.ts. Null until a second submission ran the list, and from then on
-- never changed: durations that were packed against it can be read only with it.
alter table test_list add column typical_durations bytea;
