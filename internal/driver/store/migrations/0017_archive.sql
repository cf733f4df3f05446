-- History that left the database for files, and how far removing has come.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per file. A row is written before its file: whoever finds it WRITING knows what to do again, whoever finds it
-- SEALED may delete what is in the file. from_event and to_event are of one cursor's ledger; the snapshot that stands for
-- these events has the id to_event. lineage is the smallest and the largest id of each level of work in the file.
CREATE TABLE ing_archive (
  id             {id},
  kind_code      {text 16} NOT NULL,
  status_code    {text 16} NOT NULL,
  cursor_id      {int},
  from_event     {int},
  to_event       {int},
  file_name      {text 160},
  file_hash      {hash},
  file_bytes     {int},
  rows_moved     {int},
  lineage        {json},
  signature      {hash},
  prev_signature {hash},
  created_at     {instant} NOT NULL,
  sealed_at      {instant},
  finished_at    {instant}
) {table};
CREATE INDEX idx_archive_status ON ing_archive (status_code, id);
CREATE INDEX idx_archive_cursor ON ing_archive (cursor_id, id);

-- One row per plan that is in a file: its key must not be planned a second time.
CREATE TABLE ing_archived_plan (
  plan_id       {int} NOT NULL,
  archive_id    {int} NOT NULL,
  plan_key      {hash} NOT NULL,
  plan_version  {int} NOT NULL,
  created_at    {instant} NOT NULL,
  PRIMARY KEY (plan_id)
) {table};
CREATE UNIQUE INDEX uk_archived_plan_key ON ing_archived_plan (plan_key);
CREATE INDEX idx_archived_plan_archive ON ing_archived_plan (archive_id, plan_id);

-- How far a duty has come, and which run ended last.
CREATE TABLE ing_upkeep_mark (
  name        {text 64} NOT NULL,
  position    {int} NOT NULL DEFAULT 0,
  run_key     {text 64},
  updated_at  {instant} NOT NULL,
  PRIMARY KEY (name)
) {table};

-- What holds a plan: rejects of it that are open.
CREATE INDEX idx_quarantine_plan ON ing_quarantine (plan_id, status_code);
