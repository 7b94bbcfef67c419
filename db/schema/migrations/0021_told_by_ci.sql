-- What CI says of a run: its pull request, the author of its commit, and the branch that a merge queue tests for.
alter table submission
  add column pull_number bigint,
  add column pull_title text not null default '',
  add column author text not null default '',
  add column queue_base text not null default '';

-- The default branch, as CI said last. A base branch that was set takes precedence.
alter table repository add column default_branch text;
