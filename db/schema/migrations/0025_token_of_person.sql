-- Who made a token on the pages, as issuer and subject of the account; null for the command line.
alter table api_token add column person text;
