-- What is known of rate keys, so that every process and every command sees it.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- Why nothing is taken of a partition until cooling_until: a reason of the rate gate.
ALTER TABLE ing_partition ADD COLUMN
  cooling_code {text 32};

-- Why a task that was put back waits: a reason of the rate gate. Empty: it was not put back by it.
ALTER TABLE ing_task ADD COLUMN
  wait_code {text 32};

-- What the gate of a live process says of its keys: rate now, requests under way, how much of the quotas is used.
CREATE TABLE ing_rate_report (
  executor_id      {text 128} NOT NULL,
  rate_key         {text 64} NOT NULL,
  snapshot         {json} NOT NULL,
  reported_at      {instant} NOT NULL,
  PRIMARY KEY (executor_id, rate_key)
) {table};
