-- An import is one transaction, and needs no claim. What one that was killed has left has no tokens: it is shown, and
-- can be deleted.
alter table organization drop column importing_until;
