-- Parents of a list that are new still (decision 168).

-- A parent that was new to a plan and was not read by it, although it may have items of a time that nobody else is asked for: the
-- next plan reads it from its beginning. Other parents are new because they came after parents_as_of of the cursor.
CREATE TABLE ing_sector_new (
  cursor_id   {int} NOT NULL,
  sector_name {text 256} NOT NULL,
  created_at  {instant} NOT NULL,
  PRIMARY KEY (cursor_id, sector_name)
) {table};
