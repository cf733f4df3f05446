-- What the source itself asked for, and what archived plans had read.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- When the source first asked this question by itself. NULL: only runs with other settings did, or it was before this
-- was noted.
ALTER TABLE ing_cursor ADD COLUMN
  own_since {instant};

-- Whose plan it was and what its runs had counted: a campaign is asked for both long after its plans are in files.
-- NULL in rows that were written before this was noted.
ALTER TABLE ing_archived_plan ADD COLUMN
  cursor_id {int};
ALTER TABLE ing_archived_plan ADD COLUMN
  stats {json};
CREATE INDEX idx_archived_plan_cursor ON ing_archived_plan (cursor_id, plan_id);
