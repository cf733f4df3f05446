-- How many requests a trigger may spend, over all plans it works on and all processes that work on them.
-- Column types are macros; see migrate.go. Instants are microseconds since 1970 in UTC.

-- taken counts requests before they are sent. used_up_at: somebody asked for one more than there were. holds: plans of this
-- limit wait, and claims leave them out. spender: which request of planning was counted last, so that one whose answer got
-- lost is not counted twice.
CREATE TABLE ing_request_limit (
  id           {id},
  trigger_key  {hash} NOT NULL,
  max_requests {int} NOT NULL,
  taken        {int} NOT NULL,
  holds        {bool} NOT NULL,
  spender      {text 32},
  used_up_at   {instant},
  created_at   {instant} NOT NULL,
  updated_at   {instant} NOT NULL
) {table};
CREATE UNIQUE INDEX uk_request_limit_trigger ON ing_request_limit (trigger_key);
CREATE INDEX idx_request_limit_holds ON ing_request_limit (holds);

ALTER TABLE ing_plan ADD COLUMN
  limit_id {int};
CREATE INDEX idx_plan_limit ON ing_plan (limit_id);

-- What a run has taken of the limit of its plan: a process that asks twice takes it once.
ALTER TABLE ing_task_run ADD COLUMN
  limit_id {int};
ALTER TABLE ing_task_run ADD COLUMN
  limit_taken {int};
