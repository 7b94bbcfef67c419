-- Sets the password of the read-only role, for compose.yaml: the image of PostgreSQL runs it when it
-- creates the database.
\set ON_ERROR_STOP on
\set password `cat /run/secrets/reader_password`
alter role test_analytics_reader password :'password';
