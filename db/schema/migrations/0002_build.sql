-- The program that ran a migration, as `--version` prints it, such as '0.1.0 (3f2a9c41d07e)': messages
-- about a schema of another version name it. Null for migrations that ran before this column existed.
alter table schema_migration add column build text;
