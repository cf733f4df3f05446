-- How long the queue was: what a queue that grows is compared with.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- How many due tasks of harvests and updates waited, once in five minutes, as far as a process lived. Rows go after two days.
CREATE TABLE ing_queue_length (
  slot_start {instant} NOT NULL,
  waiting    {int} NOT NULL,
  PRIMARY KEY (slot_start)
) {clustered};
