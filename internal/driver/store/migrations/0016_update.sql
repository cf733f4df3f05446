-- Looking again at what is stored: signals that name records, and records that were merged into others.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per record that somebody named. closed_at is 0 while the signal is open, so that one record has at most one
-- open signal of a kind, however often it is said.
CREATE TABLE ing_signal (
  id               {id},
  dataset_id       {int} NOT NULL,
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  id_hash          {binary 16} NOT NULL,
  provider_id      {bytes 1024} NOT NULL,
  kind_code        {text 16} NOT NULL,
  status_code      {text 16} NOT NULL,
  quarantine_id    {int},
  actor            {text 128} NOT NULL,
  reason           {text 512},
  batch_id         {int},
  created_at       {instant} NOT NULL,
  closed_at        {instant} NOT NULL DEFAULT 0
) {table};
CREATE UNIQUE INDEX uk_signal_open ON ing_signal (dataset_id, id_hash, kind_code, closed_at);
CREATE INDEX idx_signal_status ON ing_signal (dataset_id, status_code, id);

-- The record that took the place of one that is gone.
ALTER TABLE ing_record ADD COLUMN
  merged_into {bytes 1024};
