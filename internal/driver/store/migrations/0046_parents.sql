-- Stored records whose ids are the parts of another list (decision 140).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- Since when a record is there: when it was first stored, or came back after it was gone. NULL: since before this column.
ALTER TABLE ing_record ADD COLUMN
  opened_at {instant};

-- Of a list whose parts are stored records: those that were there at this instant are known, so one that came later has to be
-- read from its beginning. NULL: nothing was read yet.
ALTER TABLE ing_cursor ADD COLUMN
  parents_as_of {instant};

-- Parents that failed in a run of them, while the others of the run were read. NULL: none, or the slice is no such run.
ALTER TABLE ing_plan_slice ADD COLUMN
  sector_lost {json};
