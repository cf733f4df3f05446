-- Runs of a plan that did not succeed: status asks for those of the plans that are open, instead of all that ever failed.
-- Column types are macros; see migrate.go.

CREATE INDEX idx_run_plan_status ON ing_task_run (plan_id, status_code);
