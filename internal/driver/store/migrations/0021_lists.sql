-- Lists of one source, and of what failed, are read in the order of ids: every such index ends with the id by itself.
-- Column types are macros; see migrate.go.

CREATE INDEX idx_batch_source ON ing_task_run_batch (provenance_code);
CREATE INDEX idx_batch_status ON ing_task_run_batch (status_code, provenance_code);
CREATE INDEX idx_run_source ON ing_task_run (provenance_code);
CREATE INDEX idx_run_status ON ing_task_run (status_code, provenance_code);
CREATE INDEX idx_task_source ON ing_task (provenance_code);
CREATE INDEX idx_plan_source ON ing_plan (provenance_code);

-- These gathered all rows of a source to sort them, or served no query at all.
DROP INDEX idx_batch_status_time {of ing_task_run_batch};
DROP INDEX idx_batch_before_tok {of ing_task_run_batch};
DROP INDEX idx_run_prov_op_status {of ing_task_run};
DROP INDEX idx_run_task {of ing_task_run};
