-- Processes that send requests, and when the next request of a rate key may leave, for all of them.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per process that sends. joined_no rises with every join and is never used again: the row with an empty id
-- holds the last one. seen_no: up to whom the process has made room. A row counts until void_at.
CREATE TABLE ing_rate_member (
  executor_id      {text 128} NOT NULL,
  executes         {int} NOT NULL,
  joined_no        {int} NOT NULL,
  seen_no          {int} NOT NULL,
  void_at          {instant} NOT NULL,
  PRIMARY KEY (executor_id)
) {table};

-- The bucket of a rate key that several processes take from. It was empty at empty_at, which may be still to come.
-- What requests declare counts for a while after the last one that declared it; the lowest counts.
CREATE TABLE ing_rate_slot (
  rate_key         {text 64} NOT NULL,
  empty_at         {instant} NOT NULL,
  per_second       {double} NOT NULL,
  per_second_until {instant} NOT NULL,
  burst            {double} NOT NULL,
  burst_until      {instant} NOT NULL,
  PRIMARY KEY (rate_key)
) {table};
