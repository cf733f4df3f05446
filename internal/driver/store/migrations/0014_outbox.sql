-- What a relay of the outbox needs: its events by dataset, and a log of its deliveries.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- A relay works on one dataset at a time, under a lease, and reads what waits in the order in which it was written: the
-- id of the row stands behind the columns of every index. One index takes the place of another, so that a harvest pays
-- what it paid before.
CREATE INDEX idx_outbox_lane ON ing_outbox_message (status_code, aggregate_id);
DROP INDEX idx_outbox_status_time {of ing_outbox_message};

-- One row per attempt to deliver some events of a dataset to one destination. What became of each event that was refused
-- stands in its own row.
CREATE TABLE ing_outbox_relay_log (
  id               {id},
  dataset_id       {int} NOT NULL,
  lease_epoch      {int} NOT NULL,
  attempt_no       {int} NOT NULL,
  lease_owner      {text 128} NOT NULL,
  destination      {text 32} NOT NULL,
  status_code      {text 16} NOT NULL,
  first_message_id {int} NOT NULL,
  last_message_id  {int} NOT NULL,
  events           {int} NOT NULL,
  delivered        {int} NOT NULL,
  error_code       {text 64},
  error_msg        {text 512},
  started_at       {instant} NOT NULL,
  completed_at     {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_relay_log ON ing_outbox_relay_log (dataset_id, lease_epoch, attempt_no);
