-- What is wrong with partitions, and how often something was done about it.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per condition that a process finds in force. It counts until valid_until: a process that died leaves no
-- condition behind. The process renews its rows, and deletes those of conditions that have ended.
CREATE TABLE ing_health (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  operation_code   {text 32} NOT NULL,
  condition_code   {text 32} NOT NULL,
  owner            {text 128} NOT NULL,
  level_no         {int} NOT NULL,
  detail           {text 512},
  since            {instant} NOT NULL,
  valid_until      {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code, condition_code, owner)
) {table};

-- How often an action was taken, over all runs and plans.
CREATE TABLE ing_health_count (
  provenance_code  {text 64} NOT NULL,
  endpoint_name    {text 64} NOT NULL,
  operation_code   {text 32} NOT NULL,
  action_code      {text 32} NOT NULL,
  times            {int} NOT NULL,
  last_at          {instant} NOT NULL,
  PRIMARY KEY (provenance_code, endpoint_name, operation_code, action_code)
) {table};

-- What a run did about conditions, in words.
ALTER TABLE ing_task_run ADD COLUMN
  record_remarks {json};
