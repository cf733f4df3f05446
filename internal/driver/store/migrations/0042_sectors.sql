-- Lists that are asked for in parts: the partitions of a source file, called sectors here (decision 115).
-- Column types are macros; see migrate.go.

-- Which part of the list a slice asks for, such as set=cs. NULL: all of it.
ALTER TABLE ing_plan_slice ADD COLUMN
  sector_name {text 256};

-- How many sectors every window of the plan is read for. 0: the list is asked for at once.
ALTER TABLE ing_plan ADD COLUMN
  sector_count {int} NOT NULL DEFAULT 0;

-- Whether another slice of the same window is not over yet is asked whenever a slice of a sector ends.
DROP INDEX idx_slice_status {of ing_plan_slice};
CREATE INDEX idx_slice_status ON ing_plan_slice (plan_id, status_code, begins);
