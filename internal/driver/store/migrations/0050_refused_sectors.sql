-- Sectors that the upstream refuses, and looks at sectors that lag (decision 157).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- A sector that was refused since an instant, and is not asked for again before another. What it owes says ing_sector_lag. A
-- row that is lost costs asking earlier.
CREATE TABLE ing_sector_refusal (
  cursor_id   {int} NOT NULL,
  sector_name {text 256} NOT NULL,
  status      {int} NOT NULL,
  since       {instant} NOT NULL,
  asked_at    {instant} NOT NULL,
  recheck_at  {instant} NOT NULL,
  PRIMARY KEY (cursor_id, sector_name)
) {table};

-- The sector answered since it failed last: all that it owes may be asked for.
ALTER TABLE ing_sector_lag ADD COLUMN
  ready {bool} NOT NULL DEFAULT 0;

-- When the sector was asked for it last, and failed.
ALTER TABLE ing_sector_lag ADD COLUMN
  looked_at {instant};

-- Sectors that the plan does not ask for, because the upstream refuses them. NULL: it asks for all.
ALTER TABLE ing_plan ADD COLUMN
  sector_left {json};
