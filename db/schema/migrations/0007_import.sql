-- Of an organization that is being imported, or whose import was interrupted: it has no tokens yet, and
-- commands do not find it. Extended while the import runs; after it, another import deletes the rest.
alter table organization add column importing_until timestamptz;
