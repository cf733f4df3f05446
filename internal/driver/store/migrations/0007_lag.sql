-- The safety lag of harvests, and how many items came late in spite of it.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- One row per HARVEST plan. [passed_from, passed_to) is what had been read without a hole up to the watermark when the
-- plan was made; empty bounds: nothing is measured. late_items are those of the changed_items with a stamp in it, over
-- the runs that have ended, the last of them at measured_at.
CREATE TABLE ing_plan_lag (
  plan_id          {int} NOT NULL,
  cursor_id        {int} NOT NULL,
  declared_lag_us  {int} NOT NULL,
  safety_lag_us    {int} NOT NULL,
  passed_from      {instant},
  passed_to        {instant},
  late_items       {int} NOT NULL DEFAULT 0,
  changed_items    {int} NOT NULL DEFAULT 0,
  measured_at      {instant},
  PRIMARY KEY (plan_id)
) {table};
CREATE UNIQUE INDEX uk_plan_lag_cursor ON ing_plan_lag (cursor_id, plan_id);
CREATE INDEX idx_plan_lag_measured ON ing_plan_lag (cursor_id, measured_at);
