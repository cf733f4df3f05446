-- Exports that were asked for through the HTTP interface: of records and of black boxes.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per export, from the wish to the end of its file. claim_key is the name under which a process took it: it
-- fences what that process still says, and names the folder of the file. Without file_name there is no whole file.
CREATE TABLE ing_export (
  id              {id},
  kind_code       {text 16} NOT NULL,
  status_code     {text 16} NOT NULL,
  actor           {text 128} NOT NULL,
  request_key     {text 64} NOT NULL,
  reason          {text 512} NOT NULL,
  provenance_code {text 64} NOT NULL,
  endpoint_name   {text 64} NOT NULL,
  question_json   {json} NOT NULL,
  claim_key       {text 32},
  process_id      {text 128},
  heartbeat_at    {instant},
  records         {int} NOT NULL,
  share_done      {double} NOT NULL,
  bytes           {int} NOT NULL,
  file_name       {text 64},
  sha256          {hash},
  mark_text       {text 1024},
  error_msg       {text 512},
  created_at      {instant} NOT NULL,
  started_at      {instant},
  finished_at     {instant},
  expires_at      {instant}
) {table};
CREATE UNIQUE INDEX uk_export ON ing_export (actor, request_key);
CREATE INDEX idx_export_status ON ing_export (status_code);
CREATE INDEX idx_export_source ON ing_export (provenance_code);
CREATE INDEX idx_export_finished ON ing_export (finished_at);
