-- What the installation agreed to: which secret of the machines that work on this database may go to which host.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per consent; trust_key is the hash of reference and host. It holds references, never values. It counts on a
-- server, where whoever writes is known. A database in a file may come from anybody: there the table is not asked.
CREATE TABLE ing_trust (
  trust_key        {text 64} NOT NULL,
  secret_ref       {text 1024} NOT NULL,
  host             {text 300} NOT NULL,
  actor            {text 128} NOT NULL,
  reason           {text 512},
  agreed_at        {instant} NOT NULL,
  PRIMARY KEY (trust_key)
) {table};
