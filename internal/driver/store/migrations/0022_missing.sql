-- Records that were asked for and did not come: since when, and when they are looked at again.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- Of a living record: since when the upstream lacks it. Of a tombstone: since when it is away; NULL if that was before
-- this column, and when it was fetched says it then.
ALTER TABLE ing_record ADD COLUMN
  missing_since {instant};

-- A signal about a record that is missing waits until a second miss counts.
ALTER TABLE ing_signal ADD COLUMN
  not_before {instant} NOT NULL DEFAULT 0;
