-- What operators decide: sources that are paused, tasks that are tried again.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per pause. An empty endpoint or operation stands for all of them, so a partition is paused if any row fits it.
-- Nobody wrote this table before, and the flag of a partition could not speak of partitions that come later.
DROP TABLE IF EXISTS ing_source_state;
CREATE TABLE ing_source_state (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  operation_code   {text 32} NOT NULL,
  state_code       {text 16} NOT NULL,
  reason           {text 512},
  actor            {text 128} NOT NULL,
  since            {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code)
) {table};
ALTER TABLE ing_partition DROP COLUMN paused;

-- Runs of this epoch or an older one were forgiven when an operator asked to try the task again.
ALTER TABLE ing_task ADD COLUMN
  forgiven_epoch {int} NOT NULL DEFAULT 0;
