-- Rows of records take less room (decision 164). Of the hash of a content the first 16 bytes are kept: enough to tell that two
-- contents differ. What older programs stored, or still store meanwhile, is 32 bytes long, of which the first 16 are compared.

-- SQLite cannot change a column, so the table is written anew, in the one transaction of this migration. It has no checks of
-- lengths any more: they cost 2 % of a harvest. The program makes them before it writes (prepareBatch).
{file} CREATE TABLE ing_record_short (
  dataset_id         {int} NOT NULL,
  id_hash            BLOB NOT NULL,
  provider_id        TEXT NOT NULL,
  updated_at         {instant},
  source_version     {int} NOT NULL DEFAULT 0,
  content_hash       BLOB NOT NULL,
  fetch_at           {instant} NOT NULL,
  version            {int} NOT NULL,
  body_id            {int} NOT NULL,
  state_code         TEXT NOT NULL,
  expr_id            {int} NOT NULL,
  mapping_id         {int} NOT NULL,
  refresh_checked_at {instant},
  merged_into        TEXT,
  missing_since      {instant},
  opened_at          {instant},
  changed_at         {instant},
  PRIMARY KEY (dataset_id, id_hash)
) {clustered};
{file} INSERT INTO ing_record_short (dataset_id, id_hash, provider_id, updated_at, source_version, content_hash, fetch_at, version, body_id,
  state_code, expr_id, mapping_id, refresh_checked_at, merged_into, missing_since, opened_at, changed_at)
SELECT dataset_id, id_hash, provider_id, updated_at, source_version, substr(content_hash, 1, 16), fetch_at, version, body_id,
  state_code, expr_id, mapping_id, refresh_checked_at, merged_into, missing_since, opened_at, changed_at FROM ing_record;
{file} DROP TABLE ing_record;
{file} ALTER TABLE ing_record_short RENAME TO ing_record;

-- A server does it in one statement, so that nothing is lost which is stored meanwhile. Ids of a few rows, and versions, take 4
-- bytes there instead of 8.
{server} ALTER TABLE ing_record
  MODIFY dataset_id INT NOT NULL,
  MODIFY content_hash VARBINARY(32) NOT NULL,
  MODIFY version INT NOT NULL,
  MODIFY expr_id INT NOT NULL,
  MODIFY mapping_id INT NOT NULL;
