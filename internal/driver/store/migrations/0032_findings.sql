-- What findings need to remember: how counts of upstreams compared with what was read.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- The newest comparison of each window that was counted: how many items the upstream had, how many the newest reading,
-- and how many a reading must have to agree. expr_hash is what was asked for. Rows that are not SHORT go after 90 days.
CREATE TABLE ing_count_check (
  provenance_code {text 64} NOT NULL,
  endpoint_name   {text 64} NOT NULL,
  window_from     {instant} NOT NULL,
  window_to       {instant} NOT NULL,
  expr_hash       {hash} NOT NULL,
  upstream        {int} NOT NULL,
  items_read      {int} NOT NULL,
  items_enough    {int} NOT NULL,
  verdict_code    {text 16} NOT NULL,
  checked_at      {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, window_from, window_to)
) {clustered};
CREATE INDEX idx_count_check_verdict ON ing_count_check (verdict_code, provenance_code);
