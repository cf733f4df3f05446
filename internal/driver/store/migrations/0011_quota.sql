-- Quotas of upstreams, counted for all processes, and what plans expect to need of them.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per rate key and quota (hour, day, money): what all processes took of the window that was open last.
CREATE TABLE ing_quota (
  rate_key      {text 64} NOT NULL,
  quota_name    {text 16} NOT NULL,
  window_start  {instant} NOT NULL,
  window_end    {instant} NOT NULL,
  taken         {double} NOT NULL,
  updated_at    {instant} NOT NULL,
  PRIMARY KEY (rate_key, quota_name)
) {table};

-- Of it, what each process took in that window, used or not. A new window begins without rows.
CREATE TABLE ing_quota_holder (
  rate_key      {text 64} NOT NULL,
  quota_name    {text 16} NOT NULL,
  holder        {text 128} NOT NULL,
  taken         {double} NOT NULL,
  PRIMARY KEY (rate_key, quota_name, holder)
) {table};

-- One row per rate key whose upstream asked for a pause.
CREATE TABLE ing_rate_pause (
  rate_key      {text 64} NOT NULL,
  until         {instant} NOT NULL,
  updated_at    {instant} NOT NULL,
  PRIMARY KEY (rate_key)
) {table};

-- What a task is expected to take of its quota. It is set aside while the task is open, in the hour in which it is due.
ALTER TABLE ing_task ADD COLUMN
  reserved_requests {double} NOT NULL DEFAULT 0;

-- Under which key the requests of a partition are counted.
ALTER TABLE ing_partition ADD COLUMN
  rate_key {text 64};
UPDATE ing_partition SET rate_key = provenance_code;
CREATE INDEX idx_partition_rate_key ON ing_partition (rate_key);
