-- Parents of a list that are asked for when they changed, and in turns (decision 156).
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- When the version or the stamp that stands here was stored, by the store's clock. NULL: when it was first stored (opened_at), or
-- before this column; then fetch_at is the nearest that is known.
ALTER TABLE ing_record ADD COLUMN
  changed_at {instant};

-- Of a list whose parts are stored records: the end of what had been read of all of them when parents_as_of was set, by the
-- dates of the list. NULL: not known, so that all of them are asked for.
ALTER TABLE ing_cursor ADD COLUMN
  parents_read_to {instant};

-- Records that were found below parents which had not changed, in time that had been read without them.
ALTER TABLE ing_answer_check ADD COLUMN
  swept_items {int} NOT NULL DEFAULT 0;
