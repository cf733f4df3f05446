-- When a pause ends automatically. None: a person ends it.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

ALTER TABLE ing_source_state ADD COLUMN
  paused_until {instant};
