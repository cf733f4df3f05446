-- Sectors that lag behind the others of their list (decision 131).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- A range of time that one sector owes while all sectors without a row there have been read, as of as_of. What nobody lags
-- in has no row, and neither has what all sectors owe. A row that is lost costs reading the range for all sectors again.
-- waived: somebody accepted that it is not read.
CREATE TABLE ing_sector_lag (
  id          {id},
  cursor_id   {int} NOT NULL,
  sector_name {text 256} NOT NULL,
  window_from {instant} NOT NULL,
  window_to   {instant} NOT NULL,
  as_of       {instant} NOT NULL,
  waived      {bool} NOT NULL DEFAULT 0,
  created_at  {instant} NOT NULL
) {table};
CREATE INDEX idx_sector_lag_window ON ing_sector_lag (cursor_id, window_to);

-- Windows of the plan that are read for a few sectors only. NULL: every window is read for all of them.
ALTER TABLE ing_plan ADD COLUMN
  sector_narrow {json};
