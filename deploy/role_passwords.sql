-- Sets the passwords of the roles, for compose.yaml: the image of PostgreSQL runs it when it creates
-- the database.
\set ON_ERROR_STOP on
\set reader `cat /run/secrets/reader_password`
\set receiver `cat /run/secrets/receiver_password`
\set writer `cat /run/secrets/writer_password`
alter role test_analytics_reader password :'reader';
alter role test_analytics_receiver password :'receiver';
alter role test_analytics_writer password :'writer';
